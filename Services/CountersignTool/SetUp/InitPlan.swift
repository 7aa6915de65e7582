import EventProcessing
import Foundation
import ServiceRuntime
import WebhookSigning

/// A directory of settings for a new installation.
struct InitPlan {
    static let jwtSecretName = "jwt-secret"
    static let postgresName = "postgres-url"
    static let webhooksKeyName = "webhooks-key"
    static let webhookId = "backend"

    var app: NewApp
    /// Brokers, `host:port` with commas between them.
    var kafka: String?
    /// The database's address; nil leaves it to be written later.
    var postgres: String?
    /// Where the studio's backend takes webhooks.
    var webhookURL: String?
    /// Whether players prove themselves with JWTs of HS256.
    var makesJWTSecret = true

    /// Adds all of it to a change.
    ///
    /// - Parameter apiKey: of the backend; its hash is written.
    /// - Throws: `ToolFailure`, where there are apps already for instance.
    func add(to change: inout SettingsChange, in places: SettingsPlaces, apiKey: String) throws {
        var apps = try change.settings(.apps, template: SettingsTemplates.apps)
        guard apps.bundleIds.isEmpty, !apps.has([.field("authentication")]) else {
            throw ToolFailure(
                "\(apps.path) is in use already; `countersign app add`, `key create` and `webhooks add` add to it")
        }
        var access: [(name: String, value: SettingValue)] = []
        if makesJWTSecret {
            if !change.hasSecret(Self.jwtSecretName) {
                change.add(secret: Self.jwtSecretName, SecretText.jwtSecret())
            }
            let reference = places.reference(to: Self.jwtSecretName)
            access.append(("jwt", .fields([("hs256_secret_file", .text(reference))])))
        }
        access.append(("api_keys_sha256", .list([.text(SecretText.sha256(of: apiKey))])))
        try apps.add("authentication", .fields(access), toMappingAt: [])
        change.set(.apps, apps.text)
        try app.add(to: &change, in: places)
        _ = try change.settings(.catalogue, template: SettingsTemplates.catalogue)
        try addWebhook(to: &change, in: places)
        // Of endpoints in the database; what is sealed by one that is there is not lost.
        if !change.hasSecret(Self.webhooksKeyName) {
            change.add(secret: Self.webhooksKeyName, SecretText.webhooksKey())
        }
        try addVariables(to: &change, in: places)
    }

    private func addWebhook(to change: inout SettingsChange, in places: SettingsPlaces) throws {
        guard let webhookURL else {
            _ = try change.settings(.webhooks, template: SettingsTemplates.webhooks)
            return
        }
        let endpoint = NewEndpoint(
            id: Self.webhookId, url: webhookURL, secret: WebhookSecret.generate().reveal())
        _ = try endpoint.add(to: &change, in: places, template: SettingsTemplates.webhooks)
    }

    private func addVariables(to change: inout SettingsChange, in places: SettingsPlaces) throws {
        var text = try change.text(.variables, template: SettingsTemplates.variables)
        var variables: [(name: String, value: String)] = []
        if let kafka { variables.append(("COUNTERSIGN_KAFKA_BOOTSTRAP_SERVERS", kafka)) }
        // The package's units name these files themselves.
        if !places.namesCredentials {
            variables += [
                ("COUNTERSIGN_POSTGRES_URL_FILE", places.reference(to: Self.postgresName)),
                ("COUNTERSIGN_APPS_FILE", places.apps), ("COUNTERSIGN_CATALOGUE_FILE", places.catalogue),
                ("COUNTERSIGN_WEBHOOKS_FILE", places.webhooks),
            ]
            // One or the other: a key that stands there already counts.
            if !Self.sets(text, "COUNTERSIGN_WEBHOOKS_KEY") {
                variables.append(("COUNTERSIGN_WEBHOOKS_KEY_FILE", places.reference(to: Self.webhooksKeyName)))
            }
        }
        for (name, value) in variables where !Self.sets(text, name) {
            if !text.isEmpty, !text.hasSuffix("\n") { text += "\n" }
            text += "\(name)=\(value)\n"
        }
        change.set(.variables, text)
        guard let postgres, !change.hasSecret(Self.postgresName) else { return }
        do {
            _ = try PostgresSettings.read(SettingReader(["postgres.url": postgres]), applicationName: "countersign")
        } catch {
            throw ToolFailure("the database's address is no postgresql://USER:PASSWORD@HOST/NAME to libpq")
        }
        change.add(secret: Self.postgresName, postgres)
    }

    /// Whether a file of variables sets one.
    static func sets(_ text: String, _ name: String) -> Bool {
        text.split(separator: "\n").contains { $0.hasPrefix("\(name)=") }
    }

    /// Whether a text is a list of brokers.
    static func isBrokers(_ text: String) -> Bool {
        text.split(separator: ",", omittingEmptySubsequences: false).allSatisfy { broker in
            guard let colon = broker.lastIndex(of: ":"), let port = UInt16(broker[broker.index(after: colon)...])
            else { return false }
            let host = broker[..<colon]
            return port > 0 && !host.isEmpty
                && host.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || ".-_[]:".contains($0)) }
        }
    }
}
