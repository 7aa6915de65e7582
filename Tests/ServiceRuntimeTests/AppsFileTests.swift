import Foundation
import Testing

@testable import ServiceRuntime

@Suite("The apps file")
struct AppsFileTests {
    private static let pem = "-----BEGIN PRIVATE KEY-----\nMIGTAgEAMBMG-of-a-test\n-----END PRIVATE KEY-----"
    private static let api = "{ issuer_id: iss-1, key_id: KEY1, private_key_env: KEY }"
    private static let environment = ["KEY": pem, "SHARED": "shared-of-a-test", "EMPTY": " \n", "NO_KEY": "x"]

    private func load(_ yaml: String, secrets: AppsFile.Secrets = .all) throws -> [String: AppsFile.App] {
        let file = try TemporaryFile(yaml)
        return try AppsFile.load(path: file.path, secrets: secrets, environment: Self.environment).apps
    }

    private func app(_ fields: String, beside: String = "", secrets: AppsFile.Secrets = .all) throws -> AppsFile.App {
        let apps = try load(
            "\(beside)\napps: [{ bundle_id: a\(fields.isEmpty ? "" : ", ")\(fields) }]", secrets: secrets)
        return try #require(apps["a"])
    }

    private func problem(_ yaml: String) -> String {
        do {
            _ = try load(yaml)
            return "no mistake"
        } catch {
            return (error as? SettingsFileError)?.problem ?? "\(error)"
        }
    }

    @Test("an app with nothing but its name gets the careful defaults")
    func defaults() throws {
        let app = try app("")
        #expect(app.bundleId == "a" && app.appAppleId == nil && !app.isReleased)
        #expect(app.sandbox == .accept && app.receipts == .offline && app.possession == .proof)
        #expect(app.sharedSecret == nil && app.serverAPI == nil)
        #expect(app.authentication.hs256Secret == nil && app.authentication.serverKeys.isEmpty)
    }

    @Test("an app with a number in the store is a released one, unless it says otherwise")
    func released() throws {
        #expect(try app("app_apple_id: 7").isReleased)
        #expect(try !app("app_apple_id: 7, released: false").isReleased)
        #expect(try app("released: true").isReleased)
    }

    @Test("policies are read by their names")
    func policies() throws {
        for policy in AppsFile.SandboxPolicy.allCases {
            #expect(try app("sandbox: \(policy.rawValue)").sandbox == policy)
        }
        #expect(try app("possession: proof").possession == .proof)
        #expect(try app("possession: number").possession == .number)
        #expect(try app("receipts: offline").receipts == .offline)
        #expect(try app("receipts: verify_receipt").receipts == .verifyReceipt)
        #expect(try app("receipts: offline_then_verify_receipt").receipts == .offlineThenVerifyReceipt)
    }

    @Test("what Apple and an older consumer are told is nothing unless the file says so")
    func announcements() throws {
        let silent = try app("")
        #expect(silent.finish == .app && silent.accountToken == .leave && silent.forwarding == nil)
        let announced = try app(
            "finish: server, account_token: set, forward_notifications: { url: \"https://old.example.com/a\" }",
            secrets: [])
        #expect(announced.finish == .server && announced.accountToken == .set)
        #expect(announced.forwarding == AppsFile.Forwarding(url: "https://old.example.com/a"))
        let plain = "{ url: \"http://10.0.0.1/a\", allow_private_addresses: true }"
        #expect(try app("forward_notifications: \(plain)").forwarding?.allowsPrivateAddresses == true)
        #expect(problem("apps: [{ bundle_id: a, finish: yes }]").contains("not one of app, server"))
        let refused = problem("apps: [{ bundle_id: a, forward_notifications: { url: \"http://old.example.com\" } }]")
        #expect(refused.contains("must use https"), "\(refused)")
    }

    @Test("how much an app's backends may post is the setting's unless the file says so, and within bounds")
    func backendPosts() throws {
        #expect(try app("").backendPostsPerMinute == nil)
        #expect(try app("backend_posts_per_minute: 0").backendPostsPerMinute == 0)
        #expect(try app("backend_posts_per_minute: 600").backendPostsPerMinute == 600)
        for number in [-1, 10_000_001] {
            let refused = problem("apps: [{ bundle_id: a, backend_posts_per_minute: \(number) }]")
            #expect(refused.contains("not from 0 to 10000000"), "\(refused)")
        }
    }

    @Test("secrets come from files and from variables, without white space around them")
    func places() throws {
        let shared = try TemporaryFile("  shared-of-a-file\n")
        let key = try TemporaryFile(Self.pem + "\n\n")
        let files = try app(
            """
            shared_secret_file: \(shared.path),
            app_store_server_api: { issuer_id: iss-1, key_id: KEY1, private_key_file: \(key.path) }
            """)
        #expect(files.sharedSecret?.value == "shared-of-a-file")
        #expect(files.serverAPI?.privateKey.value == Self.pem)
        let variables = try app("shared_secret_env: SHARED, app_store_server_api: \(Self.api)")
        #expect(variables.sharedSecret?.value == "shared-of-a-test")
        #expect(variables.serverAPI?.privateKey.value == Self.pem)
        #expect(variables.serverAPI?.issuerId == "iss-1" && variables.serverAPI?.keyId == "KEY1")
    }

    @Test("a key beside the apps is every app's, but for those that have one of their own")
    func keyForAll() throws {
        let apps = try load(
            """
            app_store_server_api: \(Self.api)
            apps:
              - bundle_id: a
              - bundle_id: b
                app_store_server_api: { issuer_id: iss-1, key_id: KEY2, private_key_env: KEY }
            """)
        #expect(apps["a"]?.serverAPI?.keyId == "KEY1" && apps["b"]?.serverAPI?.keyId == "KEY2")
    }

    @Test("offers are signed with a key of an app, or of all; who may have which is listed")
    func offers() throws {
        let offers = "{ issuer_id: iss-1, key_id: OFFERS, private_key_env: KEY, player_offers: [a, b, a] }"
        let apps = try load(
            """
            subscription_offers: \(offers)
            apps:
              - bundle_id: a
              - bundle_id: b
                subscription_offers: { issuer_id: iss-1, key_id: OWN, private_key_env: KEY }
            """)
        #expect(apps["a"]?.subscriptionOffers?.key.keyId == "OFFERS")
        #expect(apps["a"]?.subscriptionOffers?.playerOffers == ["a", "b"])
        #expect(apps["b"]?.subscriptionOffers?.key.keyId == "OWN")
        #expect(apps["b"]?.subscriptionOffers?.playerOffers == [])
        #expect(apps["a"]?.serverAPI == nil)
        let unread = "subscription_offers: { issuer_id: i, key_id: k, private_key_file: /nonexistent/key }"
        #expect(try app(unread, secrets: [.callers, .apple]).subscriptionOffers == nil)
        #expect(throws: SettingsFileError.self) { try app(unread, secrets: .offers) }
    }

    @Test("a process reads the secrets that it needs; those of others may be out of its reach")
    func secretsOfOthers() throws {
        let apple = """
            shared_secret_file: /nonexistent/secret, app_store_server_api:
              { issuer_id: iss-1, key_id: KEY1, private_key_file: /nonexistent/key }
            """
        let access = "authentication: { jwt: { hs256_secret_file: /nonexistent/jwt }, api_keys_sha256: [] }"
        let caller = try app(apple, beside: "authentication: { jwt: { issuer: me } }", secrets: .callers)
        #expect(caller.sharedSecret == nil && caller.serverAPI == nil && caller.authentication.issuer == "me")
        let asker = try app("shared_secret_env: SHARED, \(access)", secrets: .apple)
        #expect(asker.sharedSecret != nil && asker.authentication.hs256Secret == nil)
    }

    @Test("a relative path is a credential's name where systemd has loaded any")
    func credentials() throws {
        let secret = try TemporaryFile("of-systemd\n")
        let name = URL(filePath: secret.path).lastPathComponent
        let file = try TemporaryFile("apps: [{ bundle_id: a, shared_secret_file: \(name) }]")
        func shared(_ folder: String?) throws -> String? {
            let environment = folder.map { ["CREDENTIALS_DIRECTORY": $0] } ?? [:]
            return try AppsFile.load(path: file.path, environment: environment).apps["a"]?.sharedSecret?.value
        }
        let folder = URL(filePath: secret.path).deletingLastPathComponent().path
        #expect(try shared(folder) == "of-systemd")
        #expect(throws: SettingsFileError.self) { try shared(nil) }
        #expect(throws: SettingsFileError.self) { try shared("") }
    }

    @Test(
        "each mistake is one sentence that names what is wrong, and quotes no secret",
        arguments: [
            ("sandbox: maybe", "`sandbox` of a is \"maybe\", not one of accept, test, refuse"),
            (
                "receipts: online",
                "`receipts` of a is \"online\", not one of offline, verify_receipt, offline_then_verify_receipt"
            ),
            ("possession: id", "`possession` of a is \"id\", not one of proof, number"),
            ("sandbx: refuse", "`apps.[0]`: `sandbx` has no meaning here"),
            ("shared_secret: hunter2", "`apps.[0]`: `shared_secret` has no meaning here"),
            ("released: perhaps", "`apps.[0].released`"), ("app_apple_id: seven", "`apps.[0].app_apple_id`"),
            ("shared_secret_env: MISSING", "the variable MISSING, `shared_secret_env` of a, is not set"),
            ("shared_secret_env: EMPTY", "`shared_secret_env` of a is empty"),
            ("shared_secret_file: /nonexistent/secret", "the file /nonexistent/secret that it names cannot be read"),
            (
                "shared_secret_env: SHARED, shared_secret_file: /dev/null",
                "a has `shared_secret_file` and `shared_secret_env`; keep one of them"
            ),
            (
                "app_store_server_api: { issuer_id: i, key_id: k }",
                "`app_store_server_api` of a lacks `private_key_file` or `private_key_env`"
            ),
            ("app_store_server_api: { issuer_id: i, private_key_env: KEY }", "lacks `key_id`"),
            ("app_store_server_api: { key_id: k, private_key_env: KEY }", "lacks `issuer_id`"),
            ("subscription_offers: { key_id: k, private_key_env: KEY }", "lacks `issuer_id`"),
            (
                "subscription_offers: { issuer_id: i, key_id: k }",
                "`subscription_offers` of a lacks `private_key_file` or `private_key_env`"
            ),
            (
                "subscription_offers: { issuer_id: i, key_id: k, private_key_env: KEY, player_offers: [\"\"] }",
                "an offer of a's `player_offers` is empty"
            ),
            (
                "app_store_server_api: { issuer_id: \"\", key_id: k, private_key_env: KEY }",
                "`issuer_id` of a's `app_store_server_api` is empty"
            ),
            (
                "app_store_server_api: { issuer_id: i, key_id: k, private_key_env: NO_KEY }",
                "the private key of a is not the whole text of a .p8 file"
            ),
            (
                "app_store_server_api: { issuer_id: i, key_id: k, private_key_env: MISSING }",
                "the variable MISSING, `private_key_env` of a, is not set"
            ),
            (
                "app_store_server_api: { issuer_id: i, key_id: k, private_key: hunter2 }",
                "`apps.[0].app_store_server_api`: `private_key` has no meaning here"
            ),
            ("authentication: { jwt: { hs256_secret: short } }", "the HS256 secret is shorter than 32 bytes"),
            (
                "authentication: { jwt: { jwks_url: \"https://a.example/keys\", audience: game } }",
                "`jwks_url` needs `issuer`"
            ),
            (
                "authentication: { jwt: { jwks_url: \"https://a.example/keys\", issuer: me, audience: \"\" } }",
                "`jwks_url` needs `audience`"
            ),
            ("authentication: { api_keys_sha256: [abc] }", "is not 64 hexadecimal digits"),
            (
                "authentication: { api_keys: [{ name: b, sha256: abc, scopes: [post] }] }",
                "the `sha256` of a key of b is not 64 hexadecimal digits"
            ),
            ("authentication: { api_keys: [{ name: b, sha256: abc }] }", "lacks `scopes`"),
            (
                "authentication: { api_keys: [{ name: \"a b\", sha256: abc, scopes: [post] }] }",
                "the `name` of a key has 1 to 64 letters, digits and . _ -"
            ),
        ])
    func mistakes(fields: String, sentence: String) {
        let problem = problem("apps: [{ bundle_id: a, \(fields) }]")
        #expect(problem.contains(sentence), "\(problem)")
        #expect(!problem.contains("\n") && !problem.contains("hunter2"))
    }

    @Test("so is a file that holds nothing but white space")
    func emptyFile() throws {
        let file = try TemporaryFile(" \n")
        #expect(
            problem("apps: [{ bundle_id: a, shared_secret_file: \(file.path) }]")
                == "line 1: `shared_secret_file` of a is empty")
    }

    @Test(
        "so are those of the whole file",
        arguments: [
            ("apps: [{ bundle_id: a }, { bundle_id: a }]", "the app a is listed twice"),
            ("apps: [{ app_apple_id: 7 }]", "lacks `bundle_id`"),
            ("apps: [{ bundle_id: \"\" }]", "an app's `bundle_id` is empty"), ("authentication: {}", "lacks `apps`"),
            ("apps: []\naps: []", "the document: `aps` has no meaning here"), ("apps: [", "it is not YAML"),
        ])
    func wholeFile(yaml: String, sentence: String) {
        #expect(problem(yaml).contains(sentence), "\(problem(yaml))")
    }

    @Test("a description or a dump of an app shows none of its secrets")
    func redacted() throws {
        let secret = String(repeating: "hunter2-", count: 4)
        let app = try app(
            """
            shared_secret_env: SHARED, app_store_server_api: \(Self.api),
            authentication: { jwt: { hs256_secret: \(secret) } }
            """)
        var dumped = "\(app) \(String(reflecting: app))"
        dump(app, to: &dumped)
        for text in ["hunter2", "shared-of-a-test", "MIGTAgEAMBMG"] { #expect(!dumped.contains(text)) }
        #expect(dumped.contains("KEY1"), "it is the app")
    }
}
