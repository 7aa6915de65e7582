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
        _ rules: String, _ body: @escaping @Sendable (ListenerStage) async throws -> Void
    ) async throws {
        try await ListenerStage.run { stage in
            let answer = try await ListenerClient.send(
                .PUT, "\(stage.addresses.control)/simulator/v1/faults", body: "{\"rules\":[\(rules)]}")
            try #require(answer.status == 200, "\(answer.body)")
            try await body(stage)
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
}
