import Messages
import Persistence
import PurchaseModel
import ServiceRuntime

/// What every request to change an endpoint has: `EndpointAct` in the OpenAPI document.
struct EndpointAct: Decodable, Sendable {
    let app: String
    let reason: String?

    enum CodingKeys: String, CodingKey { case app, reason }

    /// Who asks and why, for the audit log.
    ///
    /// - Throws: `ProblemDetails` for a reason that is no sentence.
    func asker(_ callers: ProvenCallers) throws -> StoredEndpointStore.Asker {
        .init(actor: try callers.actor(app: app), reason: try ActReason.optional(reason))
    }
}

/// What is chosen of an endpoint, where it is new or where it changes: `EndpointCreate` and `EndpointChange` in the OpenAPI document.
struct EndpointChoice: Decodable, Sendable {
    let act: EndpointAct
    let url: String?
    let description: String?
    let events: [String]?
    let environments: [String]?
    let schemaVersion: String?
    let isOrdered: Bool?
    let ed25519: Bool?

    enum CodingKeys: String, CodingKey {
        case url, description, events, environments, ed25519
        case isOrdered = "ordered"
        case schemaVersion = "schema_version"
    }

    /// - Throws: `DecodingError`; `ProblemDetails` for what is no list of texts.
    init(from decoder: any Decoder) throws {
        act = try EndpointAct(from: decoder)
        let members = try decoder.container(keyedBy: CodingKeys.self)
        func texts(_ key: CodingKeys) throws -> [String]? {
            do { return try members.decodeIfPresent([String].self, forKey: key) } catch {
                throw ProblemDetails.fieldInvalid(key.rawValue, "a list of texts")
            }
        }
        url = try members.decodeIfPresent(String.self, forKey: .url)
        description = try members.decodeIfPresent(String.self, forKey: .description)
        (events, environments) = (try texts(.events), try texts(.environments))
        schemaVersion = try members.decodeIfPresent(String.self, forKey: .schemaVersion)
        isOrdered = try members.decodeIfPresent(Bool.self, forKey: .isOrdered)
        ed25519 = try members.decodeIfPresent(Bool.self, forKey: .ed25519)
    }

    /// Takes what is chosen over into settings, once it is checked; what is not said stays as it is.
    ///
    /// - Throws: `ProblemDetails`.
    func apply(to settings: inout EndpointSettings, _ rules: WebhookEndpointRules) throws {
        if let isOrdered { settings.isOrdered = isOrdered }
        do throws(WebhookEndpointRules.Mistake) {
            if let url {
                try rules.check(url: url)
                settings.url = url
            }
            if let description {
                try rules.check(description: description)
                settings.description = description
            }
            if let events {
                try rules.check(events: events, prefix: PurchaseEvent.typePrefix)
                settings.events = events
            }
            if let schemaVersion {
                try rules.check(schemaVersion: schemaVersion, known: PurchaseEvent.schemaVersions)
                settings.schemaVersion = schemaVersion
            }
        } catch {
            throw ProblemDetails.fieldInvalid(error.field, error.expected)
        }
        if let environments {
            let names = StoreEnvironment.allCases.map(\.rawValue)
            guard Set(environments).isSubset(of: names), Set(environments).count == environments.count else {
                throw ProblemDetails.fieldInvalid(
                    "environments", "a list of \(names.map { "\"\($0)\"" }.joined(separator: " and ")), each once")
            }
            settings.environments = environments.sorted()
        }
    }

    /// The settings of a new endpoint of an app.
    ///
    /// - Throws: `ProblemDetails`.
    func settings(app: String, _ rules: WebhookEndpointRules) throws -> EndpointSettings {
        guard url != nil else { throw ProblemDetails.fieldMissing("url") }
        var settings = EndpointSettings(url: "", apps: [app], schemaVersion: PurchaseEvent.schemaVersion)
        try apply(to: &settings, rules)
        return settings
    }
}

/// Asks for new secrets: `EndpointRotation` in the OpenAPI document.
struct EndpointRotation: Decodable, Sendable {
    let act: EndpointAct
    let expiresIn: Int
    let ed25519: Bool

    enum CodingKeys: String, CodingKey {
        case ed25519
        case expiresIn = "expires_in"
    }

    /// - Throws: `DecodingError`, `ProblemDetails`.
    init(from decoder: any Decoder) throws {
        act = try EndpointAct(from: decoder)
        let members = try decoder.container(keyedBy: CodingKeys.self)
        let seconds: Int?
        do { seconds = try members.decodeIfPresent(Int.self, forKey: .expiresIn) } catch { seconds = -1 }
        expiresIn = seconds ?? WebhookEndpointRules.overlapSecondsDefault
        do throws(WebhookEndpointRules.Mistake) {
            try WebhookEndpointRules.check(overlapSeconds: expiresIn)
        } catch {
            throw ProblemDetails.fieldInvalid(error.field, error.expected)
        }
        ed25519 = try members.decodeIfPresent(Bool.self, forKey: .ed25519) ?? false
    }
}
