import Crypto
import Foundation
import Persistence
import ServiceRuntime
import Testing

@testable import CountersignTool

/// The commands that set an installation up write what the services read, or nothing.
@Suite struct SetUpTests {
    private static let pem = P256.Signing.PrivateKey().pemRepresentation

    /// A folder that goes away with its last reference.
    private final class Folder: Sendable {
        let path = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
            .appending(path: "countersign-set-up-\(UUID().uuidString)").path

        deinit { try? FileManager.default.removeItem(atPath: path) }

        func places(_ environment: [String: String] = [:]) throws -> SettingsPlaces {
            try SettingsPlaces(folder: path, environment: environment)
        }

        func text(_ name: String) throws -> String { try String(contentsOfFile: "\(path)/\(name)", encoding: .utf8) }

        func mode(_ name: String) throws -> Int? {
            try FileManager.default.attributesOfItem(atPath: "\(path)/\(name)")[.posixPermissions] as? Int
        }

        func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }
    }

    private func plan() -> InitPlan {
        InitPlan(
            app: NewApp(
                bundleId: "com.example.game", appAppleId: 7,
                key: AppStoreKey(issuerId: "57246542-96fe", keyId: "2X9R4HXF34", text: Self.pem), sharesKey: true),
            kafka: "127.0.0.1:9092", postgres: "postgresql://me:hunter2@127.0.0.1/countersign",
            webhookURL: "https://game.example.com/hooks")
    }

    private func initialize(_ places: SettingsPlaces, key: String = "csk_test") throws {
        var change = SettingsChange(in: places)
        try plan().add(to: &change, in: places, apiKey: key)
        try change.apply()
    }

    @Test func initWritesWhatTheServicesRead() throws {
        let folder = Folder()
        let places = try folder.places()
        try initialize(places)
        let app = try #require(try AppsFile.load(path: places.apps, environment: [:]).apps["com.example.game"])
        #expect(app.appAppleId == 7 && app.serverAPI?.keyId == "2X9R4HXF34")
        #expect(app.authentication.serverKeys == [ServerKey(unnamed: SecretText.sha256(of: "csk_test"))])
        #expect(app.authentication.hs256Secret != nil)
        #expect(try WebhooksFile.load(path: places.webhooks, environment: [:]).endpoints.map(\.id) == ["backend"])
        _ = try CatalogueFile.load(path: places.catalogue)
        for secret in ["app-store-key.p8", "jwt-secret", "postgres-url", "webhook-secret", "webhooks-key"] {
            #expect(try folder.mode("secrets/\(secret)") == 0o600)
        }
        let variables = try folder.text("countersign.env")
        #expect(variables.contains("\nCOUNTERSIGN_KAFKA_BOOTSTRAP_SERVERS=127.0.0.1:9092\n"))
        #expect(variables.contains("\nCOUNTERSIGN_POSTGRES_URL_FILE=\(places.secrets)/postgres-url\n"))
        #expect(variables.contains("\nCOUNTERSIGN_WEBHOOKS_KEY_FILE=\(places.secrets)/webhooks-key\n"))
        _ = try SecretSeal(try folder.text("secrets/webhooks-key"))
        for file in ["apps.yaml", "webhooks.yaml", "countersign.env"] {
            let text = try folder.text(file)
            #expect(!text.contains("hunter2") && !text.contains("csk_test") && !text.contains("whsec_"))
        }
        #expect(try folder.names() == ["apps.yaml", "catalogue.yaml", "countersign.env", "secrets", "webhooks.yaml"])
        #expect(throws: ToolFailure.self) { try initialize(places) }
    }

    @Test func underSystemdSecretsAreNamedWithoutTheirFolder() throws {
        let folder = Folder()
        let environment = ["CREDENTIALS_DIRECTORY": "\(folder.path)/secrets"]
        let places = try folder.places(environment)
        try initialize(places)
        #expect(try folder.text("apps.yaml").contains("private_key_file: app-store-key.p8"))
        #expect(try folder.text("webhooks.yaml").contains("secret_file: webhook-secret"))
        #expect(try !folder.text("countersign.env").contains("COUNTERSIGN_APPS_FILE"))
        #expect(try !folder.text("countersign.env").contains("COUNTERSIGN_WEBHOOKS"))
        let apps = try AppsFile.load(path: places.apps, environment: environment).apps
        #expect(apps["com.example.game"]?.serverAPI != nil)
        let hints = SetUpAdvice.dropIns(for: ["webhook-secret-b", "webhook-secret", "webhooks-key"], secrets: "/s")
        #expect(hints.count == 1)
        #expect(hints.first?.contains("LoadCredential=webhook-secret-b:/s/webhook-secret-b") == true)
    }

    @Test func aMistakeLeavesEverythingAsItWas() throws {
        let folder = Folder()
        let places = try folder.places()
        try initialize(places)
        let (apps, webhooks) = (try folder.text("apps.yaml"), try folder.text("webhooks.yaml"))
        let secrets = try FileManager.default.contentsOfDirectory(atPath: places.secrets).sorted()
        var change = SettingsChange(in: places)
        _ = try NewEndpoint(id: "b", url: "http://plain.example/", secret: "whsec_x").add(to: &change, in: places)
        #expect { try change.apply() } throws: { error in
            "\(error)".contains("nothing was changed") && "\(error)".contains("\(places.webhooks): line ")
        }
        #expect(try folder.text("webhooks.yaml") == webhooks && folder.text("apps.yaml") == apps)
        #expect(try FileManager.default.contentsOfDirectory(atPath: places.secrets).sorted() == secrets)
        #expect(try folder.names().count == 5, "no copy is left")
        var again = SettingsChange(in: places)
        #expect(throws: ToolFailure.self) {
            try NewApp(bundleId: "com.example.game").add(to: &again, in: places)
        }
    }

    @Test func appsKeysAndEndpointsAreAddedToWhatIsThere() throws {
        let folder = Folder()
        let places = try folder.places()
        try initialize(places)
        try FileManager.default.setAttributes([.posixPermissions: 0o604], ofItemAtPath: places.apps)
        var change = SettingsChange(in: places)
        let key = AppStoreKey(issuerId: "57246542-96fe", keyId: "2X9R4HXF34", text: Self.pem)
        try NewApp(bundleId: "com.example.same", key: key).add(to: &change, in: places)
        let other = AppStoreKey(issuerId: "57246542-96fe", keyId: "OTHER", text: Self.pem)
        try NewApp(bundleId: "com.example.other", sandbox: .refuse, sharedSecret: "s", key: other)
            .add(to: &change, in: places)
        try NewKey(sha256: SecretText.sha256(of: "csk_second")).add(to: &change)
        let secret = "whsec_" + Data(repeating: 7, count: 32).base64EncodedString()
        let name = try NewEndpoint(id: "stats", url: "https://s.example/", events: ["iap.refund.*"], secret: secret)
            .add(to: &change, in: places)
        try change.apply()
        #expect(name == "webhook-secret-stats")
        let apps = try AppsFile.load(path: places.apps, environment: [:]).apps
        #expect(apps["com.example.same"]?.serverAPI?.keyId == "2X9R4HXF34")
        #expect(apps["com.example.other"]?.serverAPI?.keyId == "OTHER")
        #expect(apps["com.example.other"]?.sandbox == .refuse && apps["com.example.other"]?.sharedSecret?.value == "s")
        #expect(apps["com.example.same"]?.authentication.serverKeys.count == 2)
        #expect(try folder.mode("apps.yaml") == 0o604, "the mode stays")
        let endpoints = try WebhooksFile.load(path: places.webhooks, environment: [:]).endpoints
        #expect(endpoints.map(\.id) == ["backend", "stats"] && endpoints.last?.events == ["iap.refund.*"])
    }

    @Test func offersHaveAKeyOfTheirOwn() throws {
        let folder = Folder()
        let places = try folder.places()
        try initialize(places)
        func offers(of app: String) throws -> AppsFile.SubscriptionOffers? {
            try AppsFile.load(path: places.apps, environment: [:]).apps[app]?.subscriptionOffers
        }
        func change(_ body: (inout SettingsChange) throws -> Void) throws {
            var change = SettingsChange(in: places)
            try body(&change)
            try change.apply()
        }
        let key = AppStoreKey(issuerId: "57246542-96fe", keyId: "8KQ2M4X7P1", text: Self.pem)
        let new = NewOffers(key: key, playerOffers: ["comeback", "no"])
        try change { try NewApp(bundleId: "com.example.club", offers: new).add(to: &$0, in: places) }
        #expect(try offers(of: "com.example.club")?.key.keyId == "8KQ2M4X7P1")
        #expect(try offers(of: "com.example.club")?.playerOffers == ["comeback", "no"])
        #expect(try folder.mode("secrets/offer-key.p8") == 0o600)
        #expect(try offers(of: "com.example.game") == nil)
        let other = AppStoreKey(
            issuerId: "57246542-96fe", keyId: "OTHER", text: P256.Signing.PrivateKey().pemRepresentation)
        try change { try NewOffers(key: other).add(to: "com.example.game", &$0, in: places) }
        #expect(try folder.mode("secrets/offer-key-OTHER.p8") == 0o600)
        for more in [["summer"], ["summer", "winter"]] {
            try change { try NewOffers(playerOffers: more).add(to: "com.example.game", &$0, in: places) }
            try change { try NewOffers(playerOffers: more).add(to: "com.example.club", &$0, in: places) }
        }
        #expect(try offers(of: "com.example.game")?.playerOffers == ["summer", "winter"])
        #expect(try offers(of: "com.example.club")?.playerOffers == ["comeback", "no", "summer", "winter"])
        let before = try folder.text("apps.yaml")
        for (bad, app) in [
            (new, "com.example.club"), (new, "com.example.nobody"),
            (NewOffers(playerOffers: ["x"]), "com.example.nobody"),
        ] {
            #expect(throws: ToolFailure.self) { try change { try bad.add(to: app, &$0, in: places) } }
        }
        #expect(throws: ToolFailure.self) {
            let app = NewApp(bundleId: "com.example.third", offers: NewOffers(playerOffers: ["x"]))
            try change { try app.add(to: &$0, in: places) }
        }
        #expect(throws: ToolFailure.self) {
            let bad = AppStoreKey(issuerId: "i", keyId: "BAD", text: P384.Signing.PrivateKey().pemRepresentation)
            let app = NewApp(bundleId: "com.example.third", offers: NewOffers(key: bad))
            try change { try app.add(to: &$0, in: places) }
        }
        #expect(try folder.text("apps.yaml") == before)
        let hints = SetUpAdvice.dropIns(for: ["offer-key.p8", "offer-key-OTHER.p8"], secrets: "/s")
        #expect(hints.count == 1 && hints.first?.contains("countersign-receipt-intake") == true)
    }

    @Test func aKeyForOneAppDoesNotTakeTheSharedOnesAway() throws {
        let folder = Folder()
        let places = try folder.places()
        try initialize(places)
        var change = SettingsChange(in: places)
        for app in ["com.example.game", "com.example.nobody"] {
            #expect(throws: ToolFailure.self) {
                try NewKey(sha256: SecretText.sha256(of: "csk_x"), app: app).add(to: &change)
            }
        }
    }

    @Test func keysAreLongAndEachIsAnother() {
        let keys = Set((0..<100).map { _ in SecretText.apiKey() })
        #expect(keys.count == 100 && keys.allSatisfy { $0.hasPrefix("csk_") && $0.count == 68 })
        #expect(SecretText.jwtSecret().utf8.count >= 32)
        #expect(
            SecretText.sha256(of: "foo") == "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae")
    }

    @Test(
        arguments: [
            ("127.0.0.1:9092", true), ("a.example:9092,b.example:9092", true), ("a.example", false), ("a:0", false),
            ("a:9092,", false), ("a b:9092", false), (":9092", false),
        ])
    func brokersHaveAPort(text: String, isGood: Bool) {
        #expect(InitPlan.isBrokers(text) == isGood)
    }
}
