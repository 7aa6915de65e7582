import HTTPTypes
import HummingbirdTesting
import ServiceRuntime
import Testing

@testable import ReceiptIntake

@Suite(
    "An address that asks without measure",
    .enabled(if: TestDatabase.serverURL != nil, TestDatabase.skipComment), .timeLimit(.minutes(2)))
struct AddressLimitTests {
    private static let settings = [
        // A sixth of it at once: 3.
        "intake.address_requests_per_minute": "18", "intake.trusted_proxies": "127.0.0.0/8, ::1",
    ]

    private func from(_ address: String) throws -> HTTPFields {
        [try #require(HTTPField.Name("X-Forwarded-For")): address]
    }

    @Test("is told when to come again, whoever it says it is; others, the backend and Apple go on")
    func refused() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url, setup: .live, settings: Self.settings) { intake in
                let player = try TestTokens.hs256(TestTokens.claims("player-1"))
                let path = "/v1/accounts/player-1?app=\(TestIntake.app)"
                for _ in 0..<3 {
                    #expect(try await intake.send(.get, path, token: player, headers: from("2.2.2.2")).status == 200)
                }
                for (token, method, path) in [
                    (player, HTTPRequest.Method.get, path), ("junk", .get, path), ("csk_junk", .post, "/v1/purchases"),
                    (player, .get, "/nothing"),
                ] {
                    let answer = try await intake.send(method, path, token: token, headers: from("2.2.2.2"))
                    #expect(answer.status == 429 && answer.slug == "rate-limited", "\(answer.text)")
                    let wait = try #require(answer.headers[.retryAfter].flatMap { Int($0) })
                    #expect((1...4).contains(wait))
                    #expect(answer.headers[.rateLimitPolicy] == #""address";q=18;w=60"#)
                    #expect(answer.headers[.rateLimit] == #""address";r=0;t=\#(wait)"#)
                }
                #expect(try await intake.send(.get, path, token: player, headers: from("2.2.2.3")).status == 200)
                #expect(
                    try await intake.send(.get, path, token: TestIntake.serverKey, headers: from("2.2.2.2")).status
                        == 200)
                for path in ["/v1/notifications", "/v1/notifications/", "/v1//notifications"] {
                    let apple = try await intake.send(.post, path, token: nil, body: "{}", headers: from("2.2.2.2"))
                    #expect(apple.status == 400, "\(path): \(apple.text)")
                }
                for suffix in 1...4 {
                    let answer = try await intake.send(
                        .get, path, token: player, headers: from("2001:db8::\(suffix)"))
                    #expect(answer.status == (suffix == 4 ? 429 : 200), "one network of 64 bits")
                }
            }
        }
    }

    @Test("a peer in a private network is taken for a proxy that nobody named, and not counted")
    func unnamedProxy() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(
                url: database.url, setup: .live, settings: ["intake.address_requests_per_minute": "6"]
            ) { intake in
                let player = try TestTokens.hs256(TestTokens.claims("player-1"))
                for _ in 0..<10 {
                    let answer = try await intake.send(
                        .get, "/v1/accounts/player-1?app=\(TestIntake.app)", token: player, headers: from("2.2.2.2"))
                    #expect(answer.status == 200)
                }
            }
        }
    }

    @Test("a setting that is no address or header is an error of one sentence")
    func settings() {
        for (key, value) in [
            ("intake.trusted_proxies", "proxy.example.com"), ("intake.client_address_header", "a b"),
            ("intake.address_requests_per_minute", "-1"),
        ] {
            #expect(throws: SettingError.self, "\(key)") {
                _ = try Configuration(
                    SettingReader([
                        "postgres.url": "postgres://localhost/x", "kafka.bootstrap_servers": "127.0.0.1:1",
                        "apps.file": "/apps.yaml", key: value,
                    ]))
            }
        }
    }
}

@Suite("Who goes on after having been refused", .timeLimit(.minutes(1)))
struct RefusalPauseTests {
    private static func client(_ text: String) throws -> ClientAddressReader.Client {
        .init(address: try #require(ClientAddress(text)), isCounted: false)
    }

    @Test("is answered at once some times, then held, and its connection is closed where too many are held")
    func pause() async throws {
        let held = HeldRequests(maximum: 10, ofOneMaximum: 1)
        let pause = RefusalPause(held: held)
        let (client, other) = (try Self.client("2.2.2.2"), try Self.client("2.2.2.3"))
        let problem = ProblemDetails.authenticationFailed("junk")
        for _ in 0..<RefusalPause.Limit.atOnce {
            #expect(await pause.answer(problem, to: client) == problem)
        }
        async let later = pause.answer(problem, to: client)
        while held.count < 1 { await Task.yield() }
        let closed = await pause.answer(problem, to: client)
        #expect(closed.headers[.connection] == "close" && closed.code == problem.code)
        #expect(await pause.answer(problem, to: other) == problem, "another address")
        #expect(await pause.answer(.notFound, to: client) == .notFound, "no refusal")
        #expect(await pause.answer(problem, to: nil) == problem)
        #expect(await later == problem)
        #expect(held.count == 0)
    }

    @Test("requests are held up to the maximum of all and of one")
    func held() async {
        let held = HeldRequests(maximum: 2, ofOneMaximum: 1)
        await withTaskGroup(of: Bool.self) { group in
            group.addTask { await held.hold("1", for: .seconds(600)) }
            group.addTask { await held.hold("2", for: .seconds(600)) }
            while held.count < 2 { await Task.yield() }
            #expect(await !held.hold("1", for: .seconds(600)))
            #expect(await !held.hold("3", for: .seconds(600)))
            group.cancelAll()
        }
        #expect(held.count == 0)
        #expect(await held.hold("1", for: .zero))
    }
}
