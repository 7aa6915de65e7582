import ArgumentParser
import EventProcessing
import Messages
import Persistence
import PurchaseModel
import ServiceRuntime

/// Who changes an endpoint of the database and why, for the audit log.
struct EndpointAuditOptions: ParsableArguments {
    @Option(help: "For an endpoint of the database: why, for the audit log.") var reason: String?
    @Option(help: "For an endpoint of the database: who, for the audit log; the user of the session by default.")
    var actor: String?

    var asker: StoredEndpointStore.Asker {
        .init(actor: actor ?? ToolActor.sessionUser, reason: reason ?? "asked for")
    }
}

/// What the commands need for endpoints of the database.
struct EndpointAccess {
    private let seal: SecretSeal?
    private let rules: WebhookEndpointRules

    /// - Throws: `SettingError`.
    init(_ settings: SettingReader) throws {
        seal = try WebhookSettings.seal(settings)
        rules = WebhookEndpointRules(allowsPrivateAddresses: try WebhookSettings.allowsPrivateAddresses(settings))
    }

    /// Whether a name is one of the database.
    static func isStored(_ id: String) -> Bool { id.hasPrefix(StoredEndpoint.idPrefix) }

    /// What seals secrets.
    ///
    /// - Throws: `ToolFailure` where there is none.
    func requiredSeal() throws(ToolFailure) -> SecretSeal {
        guard let seal else {
            throw ToolFailure(
                "COUNTERSIGN_WEBHOOKS_KEY is not set: it seals secrets in the database. Make one with `openssl rand -base64 "
                    + "32`, and give it to receipt-intake, notification and this command")
        }
        return seal
    }

    /// Settings of a new endpoint.
    ///
    /// - Throws: `ToolFailure` for what cannot be chosen.
    func settings(
        url: String, description: String, apps: [String], environments: [String], events: [String]
    ) throws -> EndpointSettings {
        var settings = EndpointSettings(url: "", schemaVersion: PurchaseEvent.schemaVersion)
        try change(
            &settings, url: url, description: description, apps: apps, environments: environments, events: events)
        return settings
    }

    /// Takes over what is chosen, once it is checked; what is nil stays.
    ///
    /// - Throws: `ToolFailure` for what cannot be chosen.
    func change(
        _ settings: inout EndpointSettings, url: String? = nil, description: String? = nil, apps: [String]? = nil,
        environments: [String]? = nil, events: [String]? = nil, schemaVersion: String? = nil
    ) throws {
        do throws(WebhookEndpointRules.Mistake) {
            if let url { try rules.check(url: url) }
            if let description { try rules.check(description: description) }
            if let events { try rules.check(events: events, prefix: PurchaseEvent.typePrefix) }
            if let schemaVersion {
                try rules.check(schemaVersion: schemaVersion, known: PurchaseEvent.schemaVersions)
            }
        } catch {
            throw ToolFailure("\(error)")
        }
        for name in environments ?? [] where StoreEnvironment(rawValue: name) == nil {
            throw ToolFailure("an environment is production or sandbox, not \(name)")
        }
        guard (apps ?? []).count <= WebhookEndpointRules.appsMaximum else {
            throw ToolFailure("at most \(WebhookEndpointRules.appsMaximum) apps are named; without any all are meant")
        }
        settings.url = url ?? settings.url
        settings.description = description ?? settings.description
        settings.apps = apps.map { Set($0).sorted() } ?? settings.apps
        settings.environments = environments.map { Set($0).sorted() } ?? settings.environments
        settings.events = events ?? settings.events
        settings.schemaVersion = schemaVersion ?? settings.schemaVersion
    }

    /// An endpoint of the database.
    ///
    /// - Throws: `ToolFailure` where there is none, `PostgresError`.
    @inline(never)
    static func find(_ id: String, _ store: StoredEndpointStore) async throws -> StoredEndpoint {
        guard let endpoint = try await store.find(id, .all) else { throw missing(id) }
        return endpoint
    }

    static func missing(_ id: String) -> ToolFailure {
        ToolFailure("\(id) is not in the database; `countersign webhooks list` has all endpoints")
    }

    static func failure(_ refusal: StoredEndpointStore.Refusal) -> ToolFailure {
        switch refusal {
        case .tooMany(let maximum): ToolFailure("there are \(maximum) endpoints, and there may be no more")
        case .rotating(let until):
            ToolFailure(
                "two secrets are live, the older one until \(MessageCoding.text(until)); `countersign webhooks "
                    + "expire-secret` ends it now")
        }
    }
}
