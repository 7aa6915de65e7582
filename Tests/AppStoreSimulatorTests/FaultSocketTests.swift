import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import Testing

@testable import AppStoreSimulator

/// What clients see of each fault, on real sockets.
@Suite("Faults on the wire", .timeLimit(.minutes(2)))
struct FaultSocketTests {
    private static let path = "/inApps/v1/history/1"

    /// Three listeners with rules that were put through the control port.
    private static func run(
        _ rules: String, isSecure: Bool = false, _ body: @escaping @Sendable (ListenerStage) async throws -> Void
    ) async throws {
        try await ListenerStage.run(isSecure: isSecure) { stage in
            let root = isSecure ? stage.folder.appendingPathComponent("tls-root.pem").path : nil
            let answer = try await ListenerClient.send(
                .PUT, "\(stage.addresses.control)/simulator/v1/faults", body: "{\"rules\":[\(rules)]}", trusting: root)
            try #require(answer.status == 200, "\(answer.body)")
            try await body(stage)
        }
    }

    @Test("a status comes with Apple's JSON, a page, or nothing")
    func status() async throws {
        let rules = [
            #"{"fault":{"kind":"status","status":500},"count":1}"#,
            #"{"fault":{"kind":"status","status":502,"body":"htmlPage"},"count":1}"#,
            #"{"fault":{"kind":"status","status":503,"body":"empty","retryAfter":"soon"},"count":1}"#,
            #"{"fault":{"kind":"status","status":401},"count":1}"#,
            #"{"fault":{"kind":"status","status":429},"count":1}"#,
            #"{"fault":{"kind":"status","status":404,"errorCode":4040010,"errorMessage":"m"},"count":1}"#,
        ]
        try await Self.run(rules.joined(separator: ",")) { stage in
            var answers: [ClientAnswer] = []
            for _ in 0..<7 {
                answers.append(try await ListenerClient.get(stage.addresses.production + Self.path))
            }
            #expect(answers.map(\.status) == [500, 502, 503, 401, 429, 404, 200])
            #expect(answers[0].body == #"{"errorCode":5000000,"errorMessage":"An unknown error occurred."}"#)
            #expect(answers[1].headers["content-type"].first?.hasPrefix("text/html") == true)
            #expect(answers[1].body.contains("<h1>502 Bad Gateway</h1>"))
            #expect(answers[2].body.isEmpty)
            #expect(answers[2].headers["retry-after"] == ["soon"])
            #expect(answers[3].body.hasPrefix("Unauthenticated"))
            #expect(answers[4].body == #"{"errorCode":4290000,"errorMessage":"Rate limit exceeded."}"#)
            // Apple's is an instant in milliseconds, which no delay in seconds could be.
            let retryAfter = try #require(answers[4].headers["retry-after"].first.flatMap { Int64($0) })
            #expect(retryAfter > 1_700_000_000_000)
            #expect(answers[5].body == #"{"errorCode":4040010,"errorMessage":"m"}"#)
            #expect(answers[6].body == ListenerStage.answer)
        }
    }

    @Test("verifyReceipt has its own JSON")
    func receiptStatus() async throws {
        try await Self.run(#"{"match":{"group":"verifyReceipt"},"fault":{"kind":"status","status":503}}"#) { stage in
            let answer = try await ListenerClient.send(.POST, stage.addresses.sandbox + "/verifyReceipt", body: "{}")
            #expect(answer.status == 503)
            #expect(answer.body == #"{"status":21005}"#)
            #expect(try await ListenerClient.get(stage.addresses.sandbox + Self.path).status == 200)
        }
    }

    @Test("a reset is a reset: no byte of an answer")
    func reset() async throws {
        try await Self.run(#"{"fault":{"kind":"reset"},"count":2}"#) { stage in
            let seen = try await RawConnection.get(Self.path, port: stage.ports.production)
            #expect(seen.end == .reset)
            #expect(seen.text.isEmpty)
            await #expect(throws: (any Error).self) {
                try await ListenerClient.get(stage.addresses.sandbox + Self.path)
            }
            #expect(try await ListenerClient.get(stage.addresses.sandbox + Self.path).status == 200)
        }
    }

    @Test("a reset after handling is one too, but the request was carried out")
    func resetAfterHandling() async throws {
        try await Self.run(#"{"fault":{"kind":"reset","afterHandling":true},"count":1}"#) { stage in
            let seen = try await RawConnection.get(Self.path, port: stage.ports.production)
            #expect(seen.end == .reset)
            #expect(seen.text.isEmpty)
            var handled = stage.handled.makeAsyncIterator()
            #expect(await handled.next() == Self.path)
        }
    }

    @Test("a truncated body is half of the right one under the whole one's length")
    func truncated() async throws {
        try await Self.run(#"{"fault":{"kind":"truncatedBody"}}"#) { stage in
            for _ in 0..<20 {
                let seen = try await RawConnection.get(Self.path, port: stage.ports.production)
                let length = ListenerStage.answer.utf8.count
                #expect(seen.text.lowercased().contains("content-length: \(length)\r\n"))
                #expect(seen.body == String(ListenerStage.answer.prefix(length / 2)))
            }
            await #expect(throws: HTTPParserError.invalidEOFState) {
                try await ListenerClient.get(stage.addresses.production + Self.path)
            }
        }
    }

    @Test("resets and truncated bodies are that under TLS too")
    func secured() async throws {
        let rules = #"{"fault":{"kind":"reset"},"count":1},{"fault":{"kind":"truncatedBody"},"count":1}"#
        try await Self.run(rules, isSecure: true) { stage in
            let root = stage.folder.appendingPathComponent("tls-root.pem").path
            for _ in 0..<2 {
                await #expect(throws: (any Error).self) {
                    try await ListenerClient.get(stage.addresses.production + Self.path, trusting: root)
                }
            }
            let answer = try await ListenerClient.get(stage.addresses.production + Self.path, trusting: root)
            #expect(answer.body == ListenerStage.answer)
            #expect(stage.book.report.rules.map(\.acted) == [1, 1])
        }
    }

    @Test("the right JSON under a wrong type, JSON that is none, and no body at all")
    func spoiled() async throws {
        let rules = ["wrongContentType", "garbageJSON", "emptyBody"].map { #"{"fault":{"kind":"\#($0)"},"count":1}"# }
        try await Self.run(rules.joined(separator: ",")) { stage in
            let url = stage.addresses.production + Self.path
            let wrong = try await ListenerClient.get(url)
            #expect(wrong.status == 200)
            #expect(wrong.headers["content-type"].first?.hasPrefix("text/html") == true)
            #expect(wrong.body == ListenerStage.answer)
            let garbage = try await ListenerClient.get(url)
            #expect(garbage.status == 200)
            #expect(garbage.headers["content-type"] == ["application/json"])
            #expect(throws: (any Error).self) { try JSONSerialization.jsonObject(with: Data(garbage.body.utf8)) }
            let empty = try await ListenerClient.get(url)
            #expect(empty.status == 200)
            #expect(empty.body.isEmpty)
            #expect(empty.headers["content-length"] == ["0"])
            #expect(try await ListenerClient.get(url).body == ListenerStage.answer)
        }
    }

    @Test("slow answers arrive whole in the end, and late ones too")
    func slow() async throws {
        let rules =
            #"{"fault":{"kind":"latency","ms":50}},{"fault":{"kind":"slowLoris","bytesPerSecond":150},"count":1}"#
        try await Self.run(rules) { stage in
            for _ in 0..<2 {
                let answer = try await ListenerClient.get(stage.addresses.production + Self.path)
                #expect(answer.status == 200)
                #expect(answer.body == ListenerStage.answer)
            }
            #expect(stage.book.report.rules.map(\.acted) == [2, 1])
        }
    }

    @Test("a hanging request is not answered while others are, and ends without an answer when the process stops")
    func hang() async throws {
        try await Self.run(#"{"fault":{"kind":"hang","afterHandling":true},"count":1}"#) { stage in
            let seen = try await RawConnection.exchange(
                port: stage.ports.production, sending: "GET \(Self.path) HTTP/1.1\r\nHost: a\r\n\r\n"
            ) {
                var handled = stage.handled.makeAsyncIterator()
                #expect(await handled.next() == Self.path)
                let other = try await ListenerClient.get(stage.addresses.production + Self.path)
                #expect(other.status == 200)
                await stage.stop()
            }
            #expect(seen.text.isEmpty)
        }
    }

    @Test("a client that tires of hanging frees its connection; a slow answer does not hold up a stop")
    func stops() async throws {
        let rules = [
            #"{"fault":{"kind":"hang","afterHandling":true},"count":1}"#,
            #"{"fault":{"kind":"slowLoris","bytesPerSecond":1}}"#,
        ]
        try await Self.run(rules.joined(separator: ",")) { stage in
            var handled = stage.handled.makeAsyncIterator()
            let tired = RawConnection.GivingUp()
            await #expect(throws: RawConnection.GivingUp.self) {
                try await RawConnection.exchange(
                    port: stage.ports.production, sending: "GET \(Self.path) HTTP/1.1\r\nHost: a\r\n\r\n"
                ) { throw tired }
            }
            #expect(await handled.next() == Self.path)
            var done = stage.done.makeAsyncIterator()
            #expect(await done.next() == Self.path)
            let slow = try await RawConnection.exchange(
                port: stage.ports.sandbox, sending: "GET \(Self.path) HTTP/1.1\r\nHost: a\r\n\r\n"
            ) {
                var handled = stage.handled.makeAsyncIterator()
                #expect(await handled.next() == Self.path)
                await stage.stop()
            }
            #expect(slow.body == ListenerStage.answer)
        }
    }

    @Test("faults act on Apple's two hosts by environment, and never on the control port; DELETE ends them")
    func scope() async throws {
        let rules = #"{"match":{"environment":"Sandbox"},"fault":{"kind":"status","status":503}}"#
        try await Self.run(rules) { stage in
            let addresses = stage.addresses
            #expect(try await ListenerClient.get(addresses.sandbox + Self.path).status == 503)
            #expect(try await ListenerClient.get(addresses.sandbox + "/no/such/path").status == 503)
            #expect(try await ListenerClient.get(addresses.production + Self.path).status == 200)
            #expect(try await ListenerClient.get(addresses.control + "/readyz").status == 200)
            let cleared = try await ListenerClient.send(.DELETE, addresses.control + "/simulator/v1/faults")
            #expect(cleared.status == 200)
            #expect(try await ListenerClient.get(addresses.sandbox + Self.path).status == 200)
        }
    }

    @Test("a share with a seed gives clients the same sequence twice")
    func sequence() async throws {
        let rule = #"{"fault":{"kind":"status","status":500},"share":0.5,"seed":42}"#
        try await Self.run(rule) { stage in
            var sequences: [[Int]] = [[], []]
            for run in 0..<2 {
                for _ in 0..<20 {
                    sequences[run].append(try await ListenerClient.get(stage.addresses.production + Self.path).status)
                }
                _ = try await ListenerClient.send(
                    .PUT, stage.addresses.control + "/simulator/v1/faults", body: "{\"rules\":[\(rule)]}")
            }
            #expect(sequences[0] == sequences[1])
            #expect(Set(sequences[0]) == [200, 500])
        }
    }
}
