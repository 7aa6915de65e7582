import Foundation
import HTTPTypes
import HummingbirdTesting
import LogTesting
import Logging
import Persistence
import Postgres
import ServiceRuntime
import Testing
import WebhookSigning

@testable import ReceiptIntake

@Suite(
    "Webhook endpoints by API",
    .enabled(if: TestDatabase.serverURL != nil, TestDatabase.skipComment), .timeLimit(.minutes(2)))
struct EndpointRoutesTests {
    private func with(
        settings: [String: String] = [:], _ body: @Sendable (TestIntake, TestDatabase) async throws -> Void
    ) async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url, settings: settings) { try await body($0, database) }
        }
    }

    private static let query = "?app=\(TestIntake.app)"

    @Test("an endpoint is made with a secret that is told once, and sealed in the database")
    func made() async throws {
        try await with { intake, database in
            let answer = try await intake.makeEndpoint([
                "events": ["iap.subscription.*"], "environments": ["production"], "description": "the backend",
            ])
            #expect(answer.status == 201, "\(answer.text)")
            let secret = try #require(answer.fields["secret"] as? String)
            _ = try WebhookSecret(secret)
            let location = try #require(answer.headers[.location])
            #expect(location == "\(EndpointSamples.path)/\(answer.id)?app=\(TestIntake.app)")
            #expect(try await intake.send(.get, location, token: TestIntake.key(.read)).status == 200)
            #expect(answer.fields["schema_version"] as? String == "2026-11-01")
            #expect(answer.fields["enabled"] as? Bool == true)
            let read = try await intake.send(
                .get, "\(EndpointSamples.path)/\(answer.id)\(Self.query)", token: TestIntake.key(.read))
            #expect(read.status == 200 && read.fields["events"] as? [String] == ["iap.subscription.*"])
            #expect(!read.text.contains("whsec_") && read.fields["secret"] == nil)
            let rows = try await database.pool.query("SELECT sealed, id FROM webhook_endpoint_secrets").rows
            #expect(rows.count == 1)
            let sealed = try rows[0].decode("sealed", as: String.self)
            #expect(!sealed.contains(secret.dropFirst("whsec_".count)))
            let place = SecretSeal.Place(endpoint: answer.id, secret: try rows[0].decode("id"))
            let seal = try SecretSeal(EndpointSamples.key)
            #expect(try seal.open(sealed, at: place) == secret)
            // Moved to another row it opens nothing.
            #expect(throws: SecretSeal.Mistake.self) {
                try seal.open(sealed, at: .init(endpoint: "we_other", secret: place.secret))
            }
            let audit = try await database.pool.query("SELECT action, actor, subject FROM audit_log").rows
            #expect(try audit.map { try $0.decode("action", as: String.self) } == ["create_endpoint"])
            #expect(try audit[0].decode("subject", as: String.self) == answer.id)
        }
    }

    @Test("no line of the log has the secret")
    func quiet() async throws {
        let log = CapturedLog()
        var logger = log.logger()
        logger.logLevel = .trace
        let traced = logger
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url, logger: traced) { intake in
                let secret = try #require(try await intake.makeEndpoint().fields["secret"] as? String)
                let lines = log.texts(.notice) + log.texts(.info) + log.texts(.debug) + log.texts(.trace)
                #expect(lines.contains { $0.contains("a webhook endpoint was made") })
                #expect(!lines.contains { $0.contains(secret.dropFirst("whsec_".count)) })
            }
        }
    }

    @Test("what cannot be an endpoint is refused with the field's name")
    func mistakes() async throws {
        try await with { intake, _ in
            let urls = [
                "http://hooks.example.com/", "ftp://example.com/", "https://user@example.com/",
                "https://a:b@example.com/", "https://example.com/#x", "https://127.0.0.1/", "https://[::1]/",
                "https://10.0.0.8/", "https://169.254.169.254/latest", "https://2130706433/", "https://0x7f.1/",
                "https://127.1/", "https://localhost/", "https://db.internal/", "https://a.localhost./",
                "https://example.com:22/", "https://example.com:80/", "https://example.com:0/",
                "https://[::ffff:10.0.0.1]/", "https://metadata/", "https://ex ample.com/", "https:///x", "",
                "https://example.com\\@127.0.0.1/", "https://" + String(repeating: "a", count: 2_048) + ".com/",
                "https://exämple.com/", "https://%31%32%37.0.0.1/",
            ]
            for url in urls {
                let answer = try await intake.makeEndpoint(["url": url])
                #expect(answer.slug == "field-invalid" && answer.fields["field"] as? String == "url", "\(url)")
            }
            let fields: [(String, Any)] = [
                ("events", ["a*b"]), ("events", ["iap.refund.granted", "iap.refund.granted"]), ("events", [""]),
                ("events", ["order.*"]), ("events", [String(repeating: "i", count: 129)]), ("events", "iap.*"),
                ("events", (0...50).map { "iap.x\($0)" }), ("environments", ["moon"]), ("environments", "sandbox"),
                ("environments", ["sandbox", "sandbox"]), ("schema_version", "2020-01-01"), ("schema_version", 1),
                ("description", String(repeating: "x", count: 256)), ("description", "a\nb"), ("ed25519", "yes"),
                ("url", 1), ("reason", ""),
            ]
            for (field, value) in fields {
                let answer = try await intake.makeEndpoint([field: value])
                #expect(answer.status == 422 && answer.fields["field"] as? String == field, "\(field) \(value)")
            }
            #expect(try await intake.makeEndpoint(["url": NSNull()]).slug == "field-missing")
            for url in ["https://hooks.example.org:8443/a?b=c", "https://1.1.1.1/x", "https://hooks.example.org:443"] {
                #expect(try await intake.makeEndpoint(["url": url]).status == 201, "\(url)")
            }
            let listed = try await intake.send(.get, EndpointSamples.path + Self.query, token: TestIntake.key(.read))
            let all = try #require(listed.fields["data"] as? [[String: Any]]).compactMap { $0["id"] as? String }
            #expect(all.count == 3)
            var (pages, after) = ([String](), "")
            repeat {
                let page = try await intake.send(
                    .get, "\(EndpointSamples.path)\(Self.query)&limit=2\(after)", token: TestIntake.key(.read))
                pages += (page.fields["data"] as? [[String: Any]] ?? []).compactMap { $0["id"] as? String }
                after = (page.fields["next"] as? String).map { "&after=\($0)" } ?? ""
            } while !after.isEmpty && pages.count < all.count
            #expect(pages == all && after.isEmpty)
        }
    }

    @Test("development may allow the own network, and no endpoint is made without a key to seal its secret")
    func settings() async throws {
        try await with(settings: ["webhooks.private_addresses": "allowed"]) { (intake, _) async throws in
            #expect(try await intake.makeEndpoint(["url": "http://127.0.0.1:8000/x"]).status == 201)
            #expect(try await intake.makeEndpoint(["url": "http://u@127.0.0.1/"]).slug == "field-invalid")
        }
        try await with(settings: ["webhooks.key": ""]) { intake, database in
            let answer = try await intake.makeEndpoint()
            #expect(answer.slug == "webhook-key-missing" && answer.text.contains("COUNTERSIGN_WEBHOOKS_KEY"))
            #expect(try await StoredEndpointStore(pool: database.pool).list(.all).isEmpty)
        }
    }

    @Test("another app's endpoint does not exist, and neither does one of several apps")
    func apart() async throws {
        try await with { intake, database in
            let own = try await intake.makeEndpoint().id
            let other = try await intake.makeEndpoint(app: TestIntake.otherApp, token: TestIntake.otherOperatorKey).id
            let store = StoredEndpointStore(pool: database.pool)
            let shared = StoredEndpoint.newId()
            try await store.create(
                shared,
                .init(
                    url: "https://hooks.example.com/", apps: [TestIntake.app, TestIntake.otherApp],
                    schemaVersion: "2026-11-01"), secrets: [], asker: .init(actor: "ada", reason: "both"))
            let listed = try await intake.send(.get, EndpointSamples.path + Self.query, token: TestIntake.key(.read))
            let ids = (listed.fields["data"] as? [[String: Any]])?.compactMap { $0["id"] as? String }
            #expect(ids == [own])
            let before = try await store.list(.all)
            for id in [other, shared] {
                let path = "\(EndpointSamples.path)/\(id)"
                var answers = [try await intake.send(.get, path + Self.query, token: TestIntake.key(.read))]
                answers.append(try await intake.send(.delete, path + Self.query, token: TestIntake.key(.operate)))
                answers.append(try await intake.act(.patch, id, "", ["url": "https://evil.example.net/"]))
                for name in ["/enable", "/disable", "/ping", "/rotate", "/secrets/expire"] {
                    answers.append(try await intake.act(.post, id, name))
                }
                for answer in answers { #expect(answer.slug == "not-found", "\(answer.text)") }
                // Nor by naming the app that it is of.
                let named = try await intake.act(.post, id, "/disable", app: TestIntake.otherApp)
                #expect(named.status == 401 || named.status == 403)
            }
            #expect(try await store.list(.all) == before)
        }
    }

    @Test("there are so many endpoints of an app, also when they are made at once")
    func limit() async throws {
        try await with { intake, database in
            let maximum = StoredEndpointStore.Limit.endpointsOfApps
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<maximum + 4 { group.addTask { try await intake.makeEndpoint().status } }
                return try await group.reduce(into: [:]) { $0[$1, default: 0] += 1 }
            }
            #expect(statuses == [201: maximum, 409: 4])
            #expect(try await intake.makeEndpoint().slug == "too-many-endpoints")
            let id = try #require(try await StoredEndpointStore(pool: database.pool).list(.all).first?.id)
            let path = "\(EndpointSamples.path)/\(id)\(Self.query)"
            #expect(try await intake.send(.delete, path, token: TestIntake.key(.operate)).status == 200)
            #expect(try await intake.makeEndpoint().status == 201)
        }
    }

    @Test("two secrets are live while they rotate; the older one ends at its time, or by command")
    func rotation() async throws {
        try await with { intake, _ in
            let made = try await intake.makeEndpoint()
            let rotated = try await intake.act(.post, made.id, "/rotate", ["expires_in": 3_600, "ed25519": true])
            #expect(rotated.status == 200, "\(rotated.text)")
            let secret = try #require(rotated.fields["secret"] as? String)
            #expect(secret != made.fields["secret"] as? String)
            _ = try WebhookPublicKey(try #require(rotated.fields["public_key"] as? String))
            let secrets = try #require(rotated.fields["secrets"] as? [[String: Any]])
            #expect(secrets.compactMap { $0["scheme"] as? String } == ["v1", "v1", "v1a"])
            #expect(secrets[0]["expires_at"] == nil && secrets[1]["expires_at"] != nil)
            let refused = try await intake.act(.post, made.id, "/rotate")
            #expect(refused.slug == "secret-rotating" && refused.fields["expires_at"] != nil)
            let expired = try await intake.act(.post, made.id, "/secrets/expire")
            #expect((expired.fields["secrets"] as? [Any])?.count == 2)
            #expect(try await intake.act(.post, made.id, "/rotate", ["expires_in": 0]).status == 200)
            let read = try await intake.send(
                .get, "\(EndpointSamples.path)/\(made.id)\(Self.query)", token: TestIntake.key(.read))
            #expect((read.fields["secrets"] as? [Any])?.count == 2)
            #expect((read.fields["secrets"] as? [[String: Any]])?.contains { $0["public_key"] != nil } == true)
        }
    }

    @Test("an endpoint is changed, switched off and on, tried and removed")
    func life() async throws {
        try await with { intake, database in
            let id = try await intake.makeEndpoint(["events": ["iap.refund.*"]]).id
            let changed = try await intake.act(
                .patch, id, "", ["url": "https://hooks.example.net/", "environments": ["sandbox"]])
            #expect(changed.fields["url"] as? String == "https://hooks.example.net/")
            #expect(changed.fields["environments"] as? [String] == ["sandbox"])
            #expect(changed.fields["events"] as? [String] == ["iap.refund.*"])
            #expect(try await intake.act(.patch, id, "", ["ed25519": true]).slug == "field-invalid")
            let off = try await intake.act(.post, id, "/disable", ["reason": "it moves"])
            #expect(off.fields["enabled"] as? Bool == false && off.fields["disabled_reason"] as? String == "it moves")
            let on = try await intake.act(.post, id, "/enable")
            #expect(on.fields["enabled"] as? Bool == true && on.fields["disabled_at"] == nil)
            let asked = try await intake.act(.post, id, "/ping")
            #expect(asked.status == 202 && asked.state == "pending" && asked.headers[.retryAfter] != nil)
            let pinged = try await EndpointSamples.pinged(intake, database, id)
            #expect(pinged.status == 200 && pinged.state == "failed" && pinged.fields["status"] as? Int == 503)
            let path = "\(EndpointSamples.path)/\(id)\(Self.query)"
            #expect(try await intake.send(.delete, path, token: TestIntake.key(.operate)).status == 200)
            #expect(try await intake.send(.get, path, token: TestIntake.key(.read)).slug == "not-found")
            #expect(try await intake.send(.delete, path, token: TestIntake.key(.operate)).slug == "not-found")
            let left = try await database.pool.query(
                """
                SELECT url FROM webhook_endpoint_settings UNION ALL SELECT sealed FROM webhook_endpoint_secrets
                UNION ALL SELECT id FROM webhook_pings
                """
            ).rows
            #expect(try left.map { try $0.decode("url", as: String.self) } == [""])
        }
    }
}
