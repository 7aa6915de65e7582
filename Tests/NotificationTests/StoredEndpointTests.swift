import AsyncHTTPClient
import Foundation
import Logging
import Persistence
import Postgres
import ServerTesting
import ServiceRuntime
import Testing
import WebhookSigning

@testable import Notification

/// Endpoints of the database: told within a look, with what they chose and by their live secrets, and left without a trace when they
/// are removed.
@Suite(.enabled(if: TestDatabase.url != nil, Comment(rawValue: TestDatabase.skipComment)), .timeLimit(.minutes(2)))
struct StoredEndpointTests: DeliverySuite {
    let secret = WebhookSecret.generate()
    private let asker = StoredEndpointStore.Asker(actor: "ada", reason: "a test")

    private static func seal(_ byte: UInt8 = 1) throws -> SecretSeal {
        try SecretSeal(Data(repeating: byte, count: SecretSeal.keyByteCount).base64EncodedString())
    }

    /// An endpoint of the database, and its secrets as they were told.
    private func add(
        _ database: TestDatabase, _ port: Int, events: [String] = [], apps: [String] = [], ed25519: Bool = false
    ) async throws -> (id: String, secrets: EndpointSecrets) {
        let id = StoredEndpoint.newId()
        let secrets = try EndpointSecrets(for: id, ed25519: ed25519, seal: try Self.seal())
        try await StoredEndpointStore(pool: database.pool).create(
            id,
            .init(
                url: "http://127.0.0.1:\(port)/stored", apps: apps, events: events, schemaVersion: "2026-11-01"),
            secrets: secrets.sealed, asker: asker)
        return (id, secrets)
    }

    /// What notification does at each look, on endpoints of its own.
    private func follow(
        _ database: TestDatabase, _ endpoints: WebhookEndpoints, seal: SecretSeal?
    ) -> StoredEndpoints {
        StoredEndpoints(
            store: StoredEndpointStore(pool: database.pool), endpoints: endpoints, seal: seal,
            allowsPrivateAddresses: true, logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
        ) { _ in }
    }

    private func verify(_ request: WebhookReceiver.Request, _ verifier: WebhookVerifier) throws {
        try verifier.verify(
            id: request.header("webhook-id"), timestamp: request.header("webhook-timestamp"),
            signature: request.header("webhook-signature"), body: request.body, now: Date())
    }

    @Test func newEndpointIsToldOfWhatItWantsAndOfNothingThatWasTakenOverBefore() async throws {
        try await TestDatabase.with { database in
            try await WebhookReceiver.with { receiver, port in
                let endpoints = WebhookEndpoints([])
                let stored = follow(database, endpoints, seal: try Self.seal())
                try await stored.readOnce()
                try await takeOver(database, ["evt_before"], endpoints.all)
                let (id, secrets) = try await add(
                    database, port, events: ["iap.refund.*"], apps: ["com.example.game"], ed25519: true)
                try await stored.look()
                try await takeOver(database, ["evt_other"], endpoints.all)
                try await takeOver(database, ["evt_refund"], type: "iap.refund.granted", endpoints.all)
                try await running([loop(database, endpoints, settings())]) { await receiver.waitForRequests(1) }
                #expect(receiver.requests.map { $0.header("webhook-id") } == ["evt_refund"])
                let request = try #require(receiver.requests.first)
                #expect(request.uri == "/stored")
                try verify(request, WebhookVerifier(secrets: [try WebhookSecret(secrets.secret)]))
                let key = try WebhookPublicKey(try #require(secrets.publicKey))
                try verify(request, WebhookVerifier(publicKeys: [key]))
                #expect(try await database.delivery("evt_refund", id)?.state == "delivered")
                #expect(try await database.states() == ["delivered": 1])
            }
        }
    }

    @Test func bothSecretsSignWhileTheyRotateAndTheNewOneAloneAfterwards() async throws {
        try await TestDatabase.with { database in
            try await WebhookReceiver.with { receiver, port in
                let (id, old) = try await add(database, port)
                let store = StoredEndpointStore(pool: database.pool)
                let new = try EndpointSecrets(for: id, ed25519: false, seal: try Self.seal())
                #expect(
                    try await store.rotate(id, .all, secrets: new.sealed, overlap: .seconds(3_600), asker: asker))
                let endpoints = WebhookEndpoints([])
                let stored = follow(database, endpoints, seal: try Self.seal())
                try await stored.look()
                let verifiers = try [new, old].map { WebhookVerifier(secrets: [try WebhookSecret($0.secret)]) }
                try await takeOver(database, ["evt_1"], endpoints.all)
                try await running([loop(database, endpoints, settings())]) { await receiver.waitForRequests(1) }
                for verifier in verifiers { try verify(receiver.requests[0], verifier) }
                // The older one's time is over.
                _ = try await database.pool.query(
                    "UPDATE webhook_endpoint_secrets SET expires_at = now() WHERE expires_at IS NOT NULL")
                try await stored.look()
                try await takeOver(database, ["evt_2"], endpoints.all)
                try await running([loop(database, endpoints, settings())]) { await receiver.waitForRequests(2) }
                try verify(receiver.requests[1], verifiers[0])
                #expect(throws: WebhookVerificationError.self) { try verify(receiver.requests[1], verifiers[1]) }
            }
        }
    }

    @Test func whatWaitsForARemovedEndpointIsTakenAwayAndNothingOfTheOthers() async throws {
        try await TestDatabase.with { database in
            try await WebhookReceiver.with(answer: { _, request in .status(request.uri == "/stored" ? 503 : 200) }) {
                receiver, port in
                let (id, _) = try await add(database, port)
                let endpoints = WebhookEndpoints([try endpoint(port)])
                let stored = follow(database, endpoints, seal: try Self.seal())
                try await stored.look()
                let ids = (1...3).map { "evt_\($0)" }
                try await takeOver(database, ids, endpoints.all)
                try await running([loop(database, endpoints, settings())]) {
                    await receiver.waitForRequests(6)
                }
                #expect(try await database.states() == ["pending": 3, "delivered": 3])
                _ = try await database.pool.query(
                    "INSERT INTO webhook_resends (endpoint_id, event_id, state) VALUES ($1, 'evt_1', 'pending')",
                    [.text(id)])
                #expect(try await StoredEndpointStore(pool: database.pool).remove(id, .all, asker: asker))
                // A process that does not know it yet.
                try await takeOver(database, ["evt_late"], endpoints.all)
                try await stored.look()
                #expect(endpoints.all.map(\.id) == ["backend"])
                #expect(try await database.states()["delivered"] == 3)
                let left = try await database.pool.query(
                    "SELECT event_id FROM webhook_deliveries WHERE endpoint_id = $1", [.text(id)])
                #expect(left.rows.isEmpty)
                #expect(try await database.pool.query("SELECT FROM webhook_resends").rows.isEmpty)
                #expect(try await database.delivery("evt_late")?.state == "pending")
            }
        }
    }

    @Test func removedEndpointLeavesNoTurnsAndIsLookedAtAgainNowAndThen() async throws {
        try await TestDatabase.with { database in
            let (id, _) = try await add(database, 1)
            let store = StoredEndpointStore(pool: database.pool)
            #expect(try await store.change(id, .all, asker: asker) { $0.isOrdered = true })
            let endpoints = WebhookEndpoints([])
            let stored = follow(database, endpoints, seal: try Self.seal())
            try await stored.look()
            let events = OrderedEvents(accounts: ["a"], count: 3)
            try await events.insert(database)
            try await takeOver(
                database, events.ids.map { event($0) }, endpoints.all,
                DeliveryQueue(settings: settings(), inbox: DeliveryInbox()))
            func count(_ table: String) async throws -> Int {
                try await database.pool.query("SELECT endpoint_id FROM \(unescaped: table)").rows.count
            }
            #expect(try await count("webhook_turns") == 3)
            #expect(try await store.remove(id, .all, asker: asker))
            try await stored.look()
            #expect(try await count("webhook_turns") == 0)
            #expect(try await count("webhook_deliveries") == 0)
            let late = "INSERT INTO webhook_deliveries (event_id, endpoint_id, due_at) VALUES ('evt_a_1', $1, now())"
            _ = try await database.pool.query(late, [.text(id)])
            try await stored.look()
            #expect(try await count("webhook_deliveries") == 0, "a take-over that was under way")
            _ = try await database.pool.query(
                "UPDATE webhook_endpoint_settings SET removed_at = removed_at - interval '2 minutes'")
            try await stored.look()
            // By a process that was cut off.
            _ = try await database.pool.query(late, [.text(id)])
            try await stored.look()
            #expect(try await count("webhook_deliveries") == 1)
            _ = try await database.pool.query(
                "UPDATE webhook_endpoint_settings SET cleared_at = cleared_at - $1 * interval '1 minute'",
                [.int8(Int64(StoredEndpointStore.Limit.clearedEveryMinutes))])
            try await stored.look()
            #expect(try await count("webhook_deliveries") == 0)
        }
    }

    @Test func whatARemovedEndpointTookIsNotSentAgain() async throws {
        try await TestDatabase.with { database in
            let (id, _) = try await add(database, 1)
            let endpoints = WebhookEndpoints([try endpoint(2)])
            let stored = follow(database, endpoints, seal: try Self.seal())
            try await stored.look()
            try await takeOver(database, ["evt_1", "evt_2"], endpoints.all)
            _ = try await database.pool.query(
                """
                UPDATE webhook_deliveries SET due_at = NULL,
                    state = CASE event_id WHEN 'evt_1' THEN 'delivered' ELSE 'abandoned' END
                """)
            #expect(try await StoredEndpointStore(pool: database.pool).remove(id, .all, asker: asker))
            try await stored.look()
            // What nobody can tell any more is not left among what is untold.
            #expect(try await database.states() == ["delivered": 2, "abandoned": 1])
            #expect(try await database.delivery("evt_2", id) == nil)
            #expect(try await database.delivery("evt_1", id) != nil)
            var selection = WebhookSelection()
            selection.state = .all
            let outcome = try await WebhookResendStore(pool: database.pool).resend(
                selection, .init(limit: 10), asker: .init(actor: "ada", reason: "a test"))
            #expect(outcome.counts == ["backend": ["delivered": 1, "abandoned": 1]])
            let asked = try await database.pool.query("SELECT endpoint_id FROM webhook_resends").rows
            #expect(try asked.map { try $0.decode("endpoint_id", as: String.self) } == ["backend", "backend"])
        }
    }

    @Test func endpointThatIsThereLosesNothingByTheFunctionThatTakesAway() async throws {
        try await TestDatabase.with { database in
            let (id, _) = try await add(database, 1)
            let endpoints = WebhookEndpoints([])
            try await follow(database, endpoints, seal: try Self.seal()).look()
            try await takeOver(database, ["evt_1"], endpoints.all)
            for name in [id, "backend"] {
                let dropped = try await database.pool.query(
                    "SELECT drop_deliveries_of_removed($1, 10) AS n", [.text(name)])
                #expect(try dropped.rows.first?.decode("n", as: Int64.self) == 0)
            }
            #expect(try await database.states() == ["pending": 1])
        }
    }

    @Test func withoutTheKeyItsEventsWaitUntilTheKeyIsThere() async throws {
        try await TestDatabase.with { database in
            try await WebhookReceiver.with { receiver, port in
                let (id, _) = try await add(database, port)
                for seal in [nil, try Self.seal(2)] {
                    let endpoints = WebhookEndpoints([try endpoint(port)])
                    try await follow(database, endpoints, seal: seal).look()
                    #expect(endpoints.sendable.map(\.id) == ["backend"])
                    let hold = try #require(endpoints.all.last?.hold)
                    #expect(hold.contains(seal == nil ? "COUNTERSIGN_WEBHOOKS_KEY" : "not among the keys"))
                    let event = seal == nil ? "evt_1" : "evt_2"
                    try await takeOver(database, [event], endpoints.all)
                    try await running([loop(database, endpoints, settings())]) {
                        try await database.waitForState("delivered", event)
                    }
                    #expect(try await database.delivery(event, id)?.attempts == 0)
                }
                // The key of before, behind a newer one, opens it.
                let keys = [UInt8(2), 1].map { Data(repeating: $0, count: 32).base64EncodedString() }
                let endpoints = WebhookEndpoints([])
                try await follow(database, endpoints, seal: try SecretSeal(keys.joined(separator: "\n"))).look()
                try await running([loop(database, endpoints, settings())]) {
                    try await waitUntil { try await database.states() == ["delivered": 4] }
                }
            }
        }
    }

    @Test func fileWinsWhereBothHaveAName() async throws {
        try await TestDatabase.with { database in
            let (id, _) = try await add(database, 1)
            let endpoints = WebhookEndpoints([try endpoint(2, id: id)])
            try await follow(database, endpoints, seal: try Self.seal()).look()
            #expect(endpoints.all.count == 1 && endpoints.all[0].request.url.port == 2)
            #expect(endpoints.clashes == [id])
            // Once the file has it no longer, the database's counts.
            endpoints.use([])
            #expect(endpoints.all[0].request.url.port == 1 && endpoints.clashes.isEmpty)
        }
    }

    @Test func pingGoesToItsEndpointAloneAlsoWhileThatIsOffAndIsTriedOnce() async throws {
        try await TestDatabase.with { database in
            try await WebhookReceiver.with(answer: { index, _ in .status(index == 0 ? 200 : 500, body: "no\nway") }) {
                receiver, port in
                let (id, secrets) = try await add(database, port, events: ["iap.refund.*"])
                _ = try await EndpointStore(pool: database.pool).switchOff(id, actor: "ada", reason: "it moves")
                let endpoints = WebhookEndpoints([try endpoint(port)])
                try await follow(database, endpoints, seal: try Self.seal()).look()
                let clients = EndpointClients(connectionsMaximum: 2)
                let pings = SendPings(
                    store: WebhookPingStore(pool: database.pool), endpoints: endpoints,
                    post: EndpointPost(clients: clients, timeout: .seconds(5), version: "test"), lease: .seconds(60))
                let asked = try await pings.store.ask(for: id)
                try await pings.look()
                try await pings.look()
                #expect(receiver.requests.map(\.uri) == ["/stored"])
                let request = try #require(receiver.requests.first)
                #expect(request.header("webhook-id") == asked)
                try verify(request, WebhookVerifier(secrets: [try WebhookSecret(secrets.secret)]))
                let fields = try JSONSerialization.jsonObject(with: Data(request.body)) as? [String: Any]
                #expect(fields?["type"] as? String == "countersign.ping" && fields?["endpoint"] as? String == id)
                let good = try #require(try await pings.store.newest(of: id))
                #expect(good.status == 200 && good.error == nil && good.finishedAt != nil)
                _ = try await pings.store.ask(for: id)
                try await pings.look()
                let bad = try #require(try await pings.store.newest(of: id))
                #expect(bad.status == 500 && bad.error == "no way" && bad.id != asked)
                await clients.close()
            }
        }
    }

    @Test func addressOfTheOwnNetworkIsRefusedByTheServiceWhateverTheTableSays() async throws {
        try await TestDatabase.with { database in
            let (id, _) = try await add(database, 1)
            let endpoints = WebhookEndpoints([])
            let stored = StoredEndpoints(
                store: StoredEndpointStore(pool: database.pool), endpoints: endpoints, seal: try Self.seal(),
                allowsPrivateAddresses: false, logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
            ) { _ in }
            try await stored.look()
            #expect(endpoints.sendable.isEmpty && endpoints.all.map(\.id) == [id])
            _ = try await database.pool.query(
                "UPDATE webhook_endpoint_settings SET url = 'https://127.0.0.1:1/', changed_at = now()")
            try await stored.look()
            let endpoint = try #require(endpoints.sendable.first)
            await #expect(throws: AddressError.self) {
                _ = try await EndpointClients(connectionsMaximum: 1).lease(for: endpoint)
            }
        }
    }
}
