import Foundation
import Persistence
import PersistenceTesting
import Postgres
import ServiceRuntime
import Testing

/// `countersign webhooks add|list|show|change|remove|disable|ping|rotate|expire-secret`, as processes, for endpoints of the database and
/// of the webhooks file.
@Suite(.enabled(if: ToolProcess.isReady, ToolProcess.missing), .timeLimit(.minutes(2)))
struct EndpointCommandTests {
    private static let key = Data(repeating: 3, count: SecretSeal.keyByteCount).base64EncodedString()
    private static let url = "https://game.example.com/hooks"

    /// A tool with a webhooks file of its own that has `backend`, and the key.
    private struct Tool {
        let process: ToolProcess
        let folder: URL

        init(_ pool: PostgresPool) async throws {
            process = try await ToolProcess(pool)
            folder = FileManager.default.temporaryDirectory.appending(path: "webhooks-\(UUID().uuidString)")
            try FileManager.default.createDirectory(
                at: folder.appending(path: "secrets"), withIntermediateDirectories: true)
            try "endpoints: []\n".write(
                to: folder.appending(path: "webhooks.yaml"), atomically: true, encoding: .utf8)
        }

        func run(
            _ arguments: String..., key: String? = EndpointCommandTests.key
        ) async throws -> ToolProcess.Ended {
            var variables = ["COUNTERSIGN_WEBHOOKS_FILE": folder.appending(path: "webhooks.yaml").path]
            variables["COUNTERSIGN_WEBHOOKS_KEY"] = key
            return try await process.run(["webhooks"] + arguments, variables: variables)
        }

        func text(_ name: String) throws -> String {
            try String(contentsOf: folder.appending(path: name), encoding: .utf8)
        }
    }

    private func with(_ body: @Sendable (Tool, PostgresPool) async throws -> Void) async throws {
        try await TestDatabase.with { pool in
            let tool = try await Tool(pool)
            defer { try? FileManager.default.removeItem(at: tool.folder) }
            try await body(tool, pool)
        }
    }

    @Test("an endpoint of the database is added, changed, rotated, switched off and removed, with a line for each")
    func stored() async throws {
        try await with { tool, pool in
            let added = try await tool.run(
                "add", "--database", Self.url, "--app", "com.example.game", "--event", "iap.refund.*", "--ed25519",
                "--json")
            #expect(added.status == 0, "\(added.errors)")
            let fields = try added.json()
            let id = try #require(fields["id"] as? String)
            let secret = try #require(fields["secret"] as? String)
            #expect(secret.hasPrefix("whsec_") && (fields["public_key"] as? String)?.hasPrefix("whpk_") == true)
            let stored = try #require(try await StoredEndpointStore(pool: pool).find(id, .app("com.example.game")))
            #expect(stored.settings.events == ["iap.refund.*"] && stored.settings.url == Self.url)
            let changed = try await tool.run("change", id, "--environment", "sandbox", "--event", "*", "--all-apps")
            #expect(changed.status == 0 && changed.output.contains("sandbox"), "\(changed.errors)")
            #expect(!changed.output.contains(secret))
            let rotated = try await tool.run("rotate", id, "--expires-in", "60")
            #expect(rotated.status == 0 && rotated.output.contains("whsec_"), "\(rotated.errors)")
            let again = try await tool.run("rotate", id)
            #expect(again.status == 1 && again.errors.contains("expire-secret"))
            let expired = try await tool.run("expire-secret", id, "--json")
            #expect(try expired.json()["expired"] as? Int == 2)
            let off = try await tool.run("disable", id, "--reason", "it moves")
            #expect(off.status == 0, "\(off.errors)")
            #expect(try await tool.run("disable", id, "--reason", "it moves").status == 1)
            let shown = try await tool.run("show", id)
            #expect(shown.output.contains("it moves") && shown.output.contains("whpk_"))
            let on = try await tool.run("enable", id, "--reason", "it moved", "--json")
            let enabled = try on.json()
            #expect(enabled["enabled"] as? Bool == true && enabled["audit_id"] as? Int != nil, "\(on.errors)")
            #expect(try await tool.run("remove", id).output.contains("--yes"))
            #expect(try await tool.run("remove", id, "--yes").status == 0)
            #expect(try await tool.run("show", id).status == 1)
            let actions = try await pool.query("SELECT action, reason FROM audit_log ORDER BY id").rows
            let change = try actions[1].decode("reason", as: String.self)
            #expect(change.hasSuffix(" (apps, environments, events)"), "what was changed, and no value: \(change)")
            #expect(
                try actions.map { try $0.decode("action", as: String.self) } == [
                    "create_endpoint", "change_endpoint", "rotate_secret", "expire_secret", "disable_endpoint",
                    "enable_endpoint", "remove_endpoint",
                ])
        }
    }

    @Test("both kinds are listed, and each says which it is")
    func lists() async throws {
        try await with { tool, _ in
            let file = try await tool.run("add", "backend", Self.url)
            #expect(file.status == 0, "\(file.errors)")
            #expect(try await tool.run("add", "--database", Self.url).status == 0)
            let listed = try await tool.run("list", "--json")
            let endpoints = try #require(try listed.json()["endpoints"] as? [[String: Any]])
            #expect(endpoints.compactMap { $0["place"] as? String } == ["file", "database"])
            #expect(endpoints[0]["id"] as? String == "backend" && endpoints[0]["enabled"] as? Bool == true)
            #expect(try await tool.run("list").lines.count == 2)
            #expect(try await tool.run("disable", "backend", "--reason", "it moves").status == 0)
            #expect(try await tool.run("list").lines[0].contains(" off "))
        }
    }

    @Test("an endpoint of the file has its secret rotated in its file, and is removed from it")
    func file() async throws {
        try await with { tool, _ in
            #expect(try await tool.run("add", "backend", Self.url).status == 0)
            let name = "secrets/webhook-secret"
            let old = try tool.text(name).trimmingCharacters(in: .whitespacesAndNewlines)
            #expect(try await tool.run("rotate", "backend").status == 0)
            let both = try tool.text(name).split(separator: "\n").map(String.init)
            #expect(both.count == 2 && both[1] == old && both[0] != old)
            #expect(try await tool.run("rotate", "backend").errors.contains("expire-secret"))
            #expect(try await tool.run("expire-secret", "backend").status == 0)
            #expect(try tool.text(name) == both[0] + "\n")
            let changed = try await tool.run("change", "backend", "--url", Self.url)
            #expect(changed.status == 1 && changed.errors.contains("changed in that file"))
            #expect(try await tool.run("remove", "backend", "--yes").status == 0)
            // Nobody listens there.
            let added = try await tool.run("add", "own", "http://127.0.0.1:9/", "--allow-private-addresses", "--json")
            #expect(try added.json()["place"] as? String == "file", "\(added.errors)")
            let pinged = try await tool.run("ping", "own", "--json")
            #expect(pinged.status == 1 && pinged.errors.contains("own gave no answer"), "\(pinged.errors)")
            let ping = try pinged.json()
            #expect(ping["state"] as? String == "failed" && ping["status"] == nil)
            #expect(try await tool.run("remove", "own", "--yes").status == 0)
            #expect(try WebhooksFile.load(path: tool.folder.path + "/webhooks.yaml").endpoints.isEmpty)
        }
    }

    @Test("a ping of the database tells what the notification service wrote down, and a missing service is a failure")
    func pings() async throws {
        try await with { tool, pool in
            let added = try await tool.run("add", "--database", Self.url, "--json")
            let id = try #require(try added.json()["id"] as? String)
            let late = try await tool.run("ping", id, "--timeout", "0.3")
            #expect(late.status == 3 && late.errors.contains("has not sent it yet"))
            let store = WebhookPingStore(pool: pool)
            let before = try await store.newest(of: id)?.id
            async let ended = tool.run("ping", id, "--timeout", "30")
            // The process is under way, and nothing but its row tells of it.
            while try await store.newest(of: id)?.id == before { try await Task.sleep(for: .milliseconds(20)) }
            for due in try await store.claimDue(endpointIds: [id], limit: 1, lease: .seconds(60)) {
                try await store.record(due, .init(status: 204, error: nil, duration: .milliseconds(7)))
            }
            let pinged = try await ended
            #expect(pinged.status == 0 && pinged.output.contains("answered 204 after 7 ms"), "\(pinged.errors)")
        }
    }

    @Test("what cannot be is refused with a sentence, and nothing is written")
    func mistakes() async throws {
        try await with { tool, pool in
            let keyless = try await tool.run("add", "--database", Self.url, key: nil)
            #expect(keyless.status == 1 && keyless.errors.contains("COUNTERSIGN_WEBHOOKS_KEY"))
            for (arguments, status, text) in [
                (["add", "--database", "http://game.example.com/"], 1, "https"),
                (["add", "--database", "https://10.0.0.1/"], 1, "public internet"),
                (["add", "--database", Self.url, "--event", "order.*"], 1, "events"),
                (["add", "--database", Self.url, "--environment", "moon"], 1, "production or sandbox"),
                (["add", "backend", Self.url, "--database"], 64, "add NAME URL"),
                (["add", "backend"], 64, "add NAME URL"), (["change", "we_none"], 1, "not in the database"),
                (["rotate", "we_none"], 1, "not in the database"), (["ping", "we_none"], 1, "not in the database"),
                (["remove", "we_none", "--yes"], 1, "not in the database"),
                (["disable", "nobody", "--reason", "x"], 1, "not in the webhooks file"),
                (["rotate", "backend", "--ed25519"], 64, "--ed25519"),
                (["rotate", "we_none", "--expires-in", "-1"], 64, "--expires-in"),
            ] as [([String], Int32, String)] {
                let ended = try await tool.process.run(
                    ["webhooks"] + arguments,
                    variables: [
                        "COUNTERSIGN_WEBHOOKS_FILE": tool.folder.path + "/webhooks.yaml",
                        "COUNTERSIGN_WEBHOOKS_KEY": Self.key,
                    ])
                #expect(ended.status == status && ended.errors.contains(text), "\(arguments): \(ended.errors)")
            }
            #expect(try await StoredEndpointStore(pool: pool).list(.all).isEmpty)
            #expect(try await pool.query("SELECT FROM audit_log").rows.isEmpty)
        }
    }
}
