import HTTPTypes
import HummingbirdTesting
import Messages
import Persistence
import PurchaseModel
import ServiceRuntime
import Testing

@testable import ReceiptIntake

/// Who has many accounts, and who asks for what costs little, takes nothing from others.
@Suite(
    "Many accounts of one network",
    .enabled(if: TestDatabase.serverURL != nil, TestDatabase.skipComment), .timeLimit(.minutes(2)))
struct NetworkPlacesTests {
    private static func from(_ address: String) throws -> HTTPFields {
        [try #require(HTTPField.Name("X-Forwarded-For")): address]
    }

    private static func with(
        _ settings: [String: String], _ body: @escaping @Sendable (TestIntake) async throws -> Void
    ) async throws {
        try await TestDatabase.with { database in
            let proxies = ["intake.trusted_proxies": "127.0.0.0/8, ::1"]
            try await TestIntake.with(
                url: database.url, setup: .live, settings: settings.merging(proxies) { one, _ in one }, body)
        }
    }

    @Test(
        "have part of the places of each kind together, rounded up; a place is given back, and nobody is counted in secret"
    )
    func places() throws {
        func client(_ text: String, isCounted: Bool = true) throws -> ClientAddressReader.Client {
            .init(address: try #require(ClientAddress(text)), isCounted: isCounted)
        }
        let places = NetworkPlaces(percent: 25, of: 5)
        #expect(places.maximum == 2)
        let taken = try [client("2001:db8::1"), client("2001:db8::2")].map { try #require(places.enter($0)) }
        #expect(try places.enter(client("2001:db8::3")) == nil, "one network of 64 bits")
        let other = try #require(try places.enter(client("2.2.2.2")))
        for _ in 0..<5 {
            #expect(places.enter(nil) != nil)
            #expect(try places.enter(client("10.0.0.1", isCounted: false)) != nil)
        }
        #expect(places.networksCount == 2)
        taken[0].leave()
        #expect(try places.enter(client("2001:db8::3")) != nil)
        other.leave()
        #expect(places.networksCount == 1)
        #expect(NetworkPlaces(percent: 1, of: 5).maximum == 1)
        #expect(NetworkPlaces(percent: 100, of: 5).maximum == .max)
    }

    @Test("wait for so many outcomes at a time; one more is answered at once, others and the backend wait")
    func outcomes() async throws {
        let settings = ["intake.waiters_maximum": "8"]
        try await Self.with(settings) { intake in
            let port = try #require(intake.client.port)
            let players = try (0..<5).map { try TestTokens.hs256(TestTokens.claims("player-\($0)")) }
            var ids: [String] = []
            for player in players { ids.append(try await intake.post(Proofs.fresh(), as: player).id) }
            func wait(_ number: Int, _ address: String, _ token: String) async throws -> StreamReader {
                try await StreamReader.open(
                    "/v1/purchases/\(ids[number])?wait=30", port: port, token: token,
                    headers: "x-forwarded-for: \(address)\r\n")
            }
            var waiting = [try await wait(0, "2.2.2.2", players[0]), try await wait(1, "2.2.2.2", players[1])]
            while intake.waiters.count < 2 { await Task.yield() }
            let more = try await intake.send(
                .get, "/v1/purchases/\(ids[2])?wait=30", token: players[2], headers: Self.from("2.2.2.2"))
            #expect(more.status == 202, "a third account of the network")
            waiting.append(try await wait(3, "2.2.2.3", players[3]))
            waiting.append(try await wait(4, "2.2.2.2", TestIntake.serverKey))
            while intake.waiters.count < 4 { await Task.yield() }
            for id in ids { intake.waiters.resolve(id, with: SubmissionOutcome(state: .fulfilled, finish: true)) }
            for reader in waiting {
                #expect(await reader.status() == "200")
                #expect(await reader.has("fulfilled"))
                try await reader.close()
            }
        }
    }

    @Test("have so many streams; one more is 429, and other networks and the backend open theirs")
    func streams() async throws {
        try await Self.with(["intake.streams_maximum": "8"]) { intake in
            let port = try #require(intake.client.port)
            func path(_ number: Int) -> String { "/v1/accounts/player-\(number)/events?app=\(TestIntake.app)" }
            func open(_ number: Int, _ address: String, _ token: String?) async throws -> StreamReader {
                try await StreamReader.open(
                    path(number), port: port, token: token ?? ReadingFixture.player("player-\(number)"),
                    headers: "x-forwarded-for: \(address)\r\n")
            }
            var readers: [StreamReader] = []
            for number in 0..<2 { readers.append(try await open(number, "2.2.2.2", nil)) }
            for reader in readers { #expect(await reader.has("retry")) }
            var headers = try Self.from("2.2.2.2")
            headers[.accept] = "text/event-stream"
            let more = try await intake.send(.get, path(2), token: ReadingFixture.player("player-2"), headers: headers)
            #expect(more.status == 429 && more.slug == "streams-of-address" && more.headers[.retryAfter] != nil)
            for (number, address, token) in [(3, "2.2.2.3", nil), (4, "2.2.2.2", TestIntake.serverKey)] {
                let reader = try await open(number, address, token)
                #expect(await reader.status() == "200")
                readers.append(reader)
            }
            for reader in readers { try await reader.close() }
        }
    }

    @Test(
        "intents and consents of a player are counted with the posts, before their bodies are read; the backend's are not"
    )
    func cheapPosts() async throws {
        try await Self.with(["intake.account_posts_per_minute": "3"]) { intake in
            let player = try IntentRows.player()
            let consent = "/v1/accounts/player-1/consent"
            let consented = "{\"app\":\"\(TestIntake.app)\",\"consented\":true}"
            #expect(try await intake.openIntent("p", as: player).status == 201)
            #expect(try await intake.send(.put, consent, token: player, body: consented).status == 200)
            #expect(try await intake.post(Proofs.fresh(), as: player).status == 202)
            for (method, path) in [(HTTPRequest.Method.post, "/v1/intents"), (.put, consent)] {
                let answer = try await intake.send(method, path, token: player, body: "{")
                #expect(answer.status == 429 && answer.slug == "rate-limited", "\(path): \(answer.text)")
                #expect(answer.headers[.rateLimitPolicy] == #""posts";q=3;w=60"# && answer.headers[.retryAfter] != nil)
            }
            #expect(try await intake.openIntent("p", as: IntentRows.player("player-2")).status == 201)
            for _ in 0..<10 {
                let opened = try await intake.openIntent("p", as: TestIntake.serverKey, account: "player-1")
                #expect(opened.status == 201)
                let set = try await intake.send(.put, consent, token: TestIntake.serverKey, body: consented)
                #expect(set.status == 200)
            }
        }
    }

    @Test("an intent is read within the account's limit, as all that is read")
    func reads() async throws {
        try await Self.with(["intake.account_reads_per_minute": "2"]) { intake in
            let player = try IntentRows.player()
            let id = try await intake.openIntent("p", as: player).id
            for status in [200, 200, 429] { #expect(try await intake.intent(id, as: player).status == status) }
            let version = "/v1/accounts/player-1?app=\(TestIntake.app)&at_least=9&wait=30"
            #expect(try await intake.send(.get, version, token: player).status == 429, "before it waits, and looks")
        }
    }
}
