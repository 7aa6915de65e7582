import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Testing

@testable import AppStoreSimulator

@Suite("Fault routes")
struct FaultRoutesTests {
    private struct Report: Decodable {
        struct Rule: Decodable {
            let fault: FaultRule.Fault
            let acted: Int
            let matched: Int
            let isOver: Bool
            let share: Double?
        }

        let rules: [Rule]
        let notifications: NotificationFaults
    }

    private static func with(
        _ book: FaultBook, _ body: @escaping @Sendable (any TestClientProtocol) async throws -> Void
    ) async throws {
        let router = Router(context: BasicRequestContext.self)
        router.add(middleware: ProblemMiddleware())
        FaultRoutes(book: book).addRoutes(to: router.group("simulator/v1"))
        try await Application(router: router).test(.router) { try await body($0) }
    }

    private static func send(
        _ client: any TestClientProtocol, _ method: HTTPRequest.Method, _ body: String? = nil
    ) async throws -> Report {
        try await client.execute(
            uri: "/simulator/v1/faults", method: method, body: body.map { ByteBuffer(string: $0) }
        ) { response in
            #expect(response.status == .ok, "\(String(buffer: response.body))")
            return try JSONDecoder().decode(Report.self, from: Data(response.body.readableBytesView))
        }
    }

    @Test("rules are put, added, told with their counts, and cleared")
    func life() async throws {
        let book = FaultBook()
        try await Self.with(book) { client in
            #expect(try await Self.send(client, .get).rules.isEmpty)
            let put = try await Self.send(
                client, .put, #"{"rules":[{"fault":{"kind":"reset"},"count":1,"share":0.5}]}"#)
            #expect(put.rules.map(\.fault.kind) == ["reset"])
            let added = try await Self.send(
                client, .post,
                #"{"rules":[{"fault":{"kind":"status","status":503}}],"notifications":{"outOfOrder":true}}"#)
            #expect(added.rules.map(\.fault.kind) == ["reset", "status"])
            #expect(added.notifications == NotificationFaults(outOfOrder: true))
            _ = book.verdict(environment: .production, method: "GET", path: "/")
            let told = try await Self.send(client, .get)
            #expect(told.rules[0].share == 0.5)
            #expect(told.rules.map(\.acted).reduce(0, +) == 1)
            #expect(try await Self.send(client, .put, "{}").rules.isEmpty)
            _ = try await Self.send(client, .post, #"{"notifications":{"dropShare":1}}"#)
            let cleared = try await Self.send(client, .delete)
            #expect(cleared.rules.isEmpty)
            #expect(cleared.notifications == NotificationFaults())
        }
    }

    @Test("what GET tells may be put back")
    func roundTrip() async throws {
        try await Self.with(FaultBook()) { client in
            _ = try await Self.send(
                client, .put,
                #"{"rules":[{"match":{"group":"all"},"fault":{"kind":"hang"}}],"notifications":{"delayMs":5}}"#)
            let text = try await client.execute(uri: "/simulator/v1/faults", method: .get) { String(buffer: $0.body) }
            let back = try await Self.send(client, .put, text)
            #expect(back.rules.map(\.fault.kind) == ["hang"])
            #expect(back.notifications.delayMs == 5)
        }
    }

    /// A rule with a fault, and what the problem must name.
    private static func fault(_ fields: String) -> String {
        #"{"rules":[{"fault":{\#(fields)}}]}"#
    }

    private static let bad: [(body: String, named: String)] = [
        ("[]", "the body"), ("{", "the body"), (#"{"rules":{}}"#, "rules"), (#"{"rule":[]}"#, "rule: no such field"),
        (#"{"rules":[{}]}"#, "rules[0].fault: missing"), (fault(""), "rules[0].fault.kind: missing"),
        (fault(#""kind":"explode""#), "rules[0].fault.kind: one of latency"),
        (fault(#""kind":"latency""#), "rules[0].fault.ms"),
        (fault(#""kind":"latency","ms":-1"#), "rules[0].fault.ms: 0 to 120000"),
        (fault(#""kind":"latency","ms":120001"#), "rules[0].fault.ms"),
        (fault(#""kind":"latency","ms":"1""#), "rules[0].fault.ms: of the wrong type"),
        (fault(#""kind":"latency","medianMs":10"#), "rules[0].fault.ms"),
        (fault(#""kind":"latency","medianMs":10,"p99Ms":9"#), "rules[0].fault.medianMs"),
        (fault(#""kind":"latency","ms":1,"medianMs":10,"p99Ms":19"#), "rules[0].fault.ms"),
        (fault(#""kind":"reset","ms":1"#), "rules[0].fault.ms: a fault of the kind reset has none"),
        (fault(#""kind":"reset","delay":1"#), "rules[0].fault.delay: no such field"),
        (fault(#""kind":"status""#), "rules[0].fault.status"),
        (fault(#""kind":"status","status":200"#), "rules[0].fault.status: 400 to 599"),
        (fault(#""kind":"status","status":500,"body":"xml""#), "rules[0].fault.body: one of json"),
        (fault(#""kind":"status","status":429,"retryAfter":"1","retryAfterMs":1"#), "rules[0].fault.retryAfterMs"),
        (fault(#""kind":"status","status":429,"retryAfter":"1\r\nX: y""#), "rules[0].fault.retryAfter"),
        (fault(#""kind":"slowLoris""#), "rules[0].fault.bytesPerSecond"),
        (fault(#""kind":"slowLoris","bytesPerSecond":0"#), "rules[0].fault.bytesPerSecond"),
        (fault(#""kind":"unauthorizedStorm""#), "rules[0].fault.seconds"),
        (#"{"rules":[{"fault":{"kind":"reset"},"share":1.1}]}"#, "rules[0].share: 0 to 1"),
        (#"{"rules":[{"fault":{"kind":"reset"}},{"fault":{"kind":"reset"},"count":0}]}"#, "rules[1].count"),
        (#"{"rules":[{"fault":{"kind":"reset"},"until":0}]}"#, "rules[0].until"),
        (#"{"rules":[{"fault":{"kind":"reset"},"seed":"1"}]}"#, "rules[0].seed: of the wrong type"),
        (#"{"rules":[{"fault":{"kind":"reset"},"times":3}]}"#, "rules[0].times: no such field"),
        (#"{"rules":[{"match":{"environment":"Xcode"},"fault":{"kind":"reset"}}]}"#, "rules[0].match.environment"),
        (#"{"rules":[{"match":{"group":"games"},"fault":{"kind":"reset"}}]}"#, "rules[0].match.group: one of all"),
        (#"{"rules":[{"match":{"path":"inApps"},"fault":{"kind":"reset"}}]}"#, "rules[0].match.path"),
        (#"{"rules":[{"match":{"method":"get"},"fault":{"kind":"reset"}}]}"#, "rules[0].match.method"),
        (#"{"notifications":{"dropShare":2}}"#, "notifications.dropShare"),
        (#"{"notifications":{"delayMs":-1}}"#, "notifications.delayMs"),
        (#"{"notifications":{"shuffle":true}}"#, "notifications.shuffle: no such field"),
    ]

    @Test("a rule that makes no sense is refused by its name, and changes nothing", arguments: bad.indices)
    func problems(_ index: Int) async throws {
        let (body, named) = Self.bad[index]
        let book = FaultBook()
        try book.add(rules: [FaultRule(fault: .init(kind: "reset"))], notifications: nil)
        try await Self.with(book) { client in
            for method in [HTTPRequest.Method.put, .post] {
                try await client.execute(
                    uri: "/simulator/v1/faults", method: method, body: ByteBuffer(string: body)
                ) { response in
                    #expect(response.status == .badRequest)
                    #expect(response.headers[.contentType] == "application/problem+json")
                    let problem = try JSONDecoder().decode(
                        Simulator.ProblemDetails.self, from: Data(response.body.readableBytesView))
                    #expect(problem.detail.contains(named), "\(problem.detail)")
                }
            }
        }
        #expect(book.report.rules.count == 1)
    }

    @Test("more rules than the limit are refused, together with those that are there")
    func tooMany() async throws {
        let rule = #"{"fault":{"kind":"reset"}}"#
        func body(_ count: Int) -> String {
            "{\"rules\":[\(Array(repeating: rule, count: count).joined(separator: ","))]}"
        }
        let book = FaultBook()
        let (full, over) = (body(100), body(101))
        try await Self.with(book) { client in
            #expect(try await Self.send(client, .put, full).rules.count == 100)
            for (method, body) in [(.put, over), (.post, #"{"rules":[\#(rule)]}"#)] as [(HTTPRequest.Method, String)] {
                let status = try await client.execute(
                    uri: "/simulator/v1/faults", method: method, body: ByteBuffer(string: body)
                ) { $0.status }
                #expect(status == .badRequest)
            }
        }
        #expect(book.report.rules.count == 100)
    }
}
