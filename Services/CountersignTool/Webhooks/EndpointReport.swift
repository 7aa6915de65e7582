import Foundation
import Messages
import Persistence
import ServiceRuntime

/// An endpoint as the commands show it.
struct EndpointReport: Encodable, Sendable {
    let id: String
    /// `database`, `file`.
    let place: String
    let url: String
    let description: String
    let apps: [String]
    let environments: [String]
    let events: [String]
    let schemaVersion: String?
    let ordered: Bool
    let enabled: Bool
    let disabledAt: String?
    let disabledReason: String?
    let failingSince: String?
    let succeededAt: String?
    let secrets: [Secret]
    let lastPing: PingReport?
    /// Those that the command made, shown this once.
    let secret: String?
    let publicKey: String?

    /// What signs, without what is secret of it.
    struct Secret: Encodable, Sendable {
        let id: String
        let scheme: String
        let publicKey: String?
        let createdAt: String
        let expiresAt: String?
    }

    /// One of the database.
    init(_ endpoint: StoredEndpoint, _ made: EndpointSecrets? = nil) {
        id = endpoint.id
        place = "database"
        let settings = endpoint.settings
        (url, description, apps) = (settings.url, settings.description, settings.apps)
        (environments, events, schemaVersion) = (settings.environments, settings.events, settings.schemaVersion)
        ordered = settings.isOrdered
        let state = endpoint.state
        enabled = state.disabledAt == nil
        (disabledAt, disabledReason) = (state.disabledAt.map { MessageCoding.text($0) }, state.disabledReason)
        failingSince = state.failingSince.map { MessageCoding.text($0) }
        succeededAt = state.succeededAt.map { MessageCoding.text($0) }
        secrets = endpoint.secrets.map { secret in
            Secret(
                id: secret.id, scheme: secret.scheme, publicKey: secret.publicKey,
                createdAt: MessageCoding.text(secret.createdAt),
                expiresAt: secret.expiresAt.map { MessageCoding.text($0) })
        }
        lastPing = endpoint.ping.map(PingReport.init)
        secret = made?.secret
        publicKey = made?.publicKey
    }

    /// One of the webhooks file.
    ///
    /// - Parameter state: nil where the database does not know it, or was not asked.
    init(_ endpoint: WebhooksFile.Endpoint, _ state: StoredEndpoint.State?) {
        id = endpoint.id
        place = "file"
        (url, description, apps) = (endpoint.url, "", endpoint.apps)
        (environments, events, schemaVersion) = (endpoint.environments, endpoint.events, nil)
        ordered = endpoint.isOrdered
        enabled = state?.disabledAt == nil
        (disabledAt, disabledReason) = (state?.disabledAt.map { MessageCoding.text($0) }, state?.disabledReason)
        failingSince = state?.failingSince.map { MessageCoding.text($0) }
        succeededAt = state?.succeededAt.map { MessageCoding.text($0) }
        (secrets, lastPing, secret, publicKey) = ([], nil, nil, nil)
    }

    /// A line of a list.
    var line: String {
        let filters = [
            apps.isEmpty ? "all apps" : apps.joined(separator: ","),
            environments.isEmpty ? "both environments" : environments.joined(separator: ","),
            events.isEmpty ? "all events" : events.joined(separator: ","),
        ]
        let state = enabled ? failingSince == nil ? "on" : "failing" : "off"
        return "\(ToolOutput.padded(id, 36))\(ToolOutput.padded(place, 10))\(ToolOutput.padded(state, 9))\(url)  "
            + filters.joined(separator: "; ")
    }

    /// All that is known of it, for a person.
    var text: String {
        var lines: [(String, String?)] = [
            ("id", id), ("kept in", place == "file" ? "the webhooks file" : "the database"), ("url", url),
            ("description", description.isEmpty ? nil : description),
            ("apps", apps.isEmpty ? "all" : apps.joined(separator: ", ")),
            ("environments", environments.isEmpty ? "both" : environments.joined(separator: ", ")),
            ("events", events.isEmpty ? "all" : events.joined(separator: ", ")), ("schema version", schemaVersion),
            ("ordered", ordered ? "yes: an account's events one after the other" : nil),
            ("state", enabled ? "on" : "off since \(disabledAt ?? ""): \(disabledReason ?? "")"),
            ("has only failed since", failingSince), ("took something at", succeededAt),
        ]
        for secret in secrets {
            let end = secret.expiresAt.map { ", signs until \($0)" } ?? ""
            lines.append(("secret", "\(secret.id), \(secret.scheme), made \(secret.createdAt)\(end)"))
            if let key = secret.publicKey { lines.append(("public key", key)) }
        }
        lines.append(("last ping", lastPing?.text))
        return lines.compactMap { name, value in value.map { "\(ToolOutput.padded(name, 23))\($0)" } }
            .joined(separator: "\n")
    }

    /// Shows what is shown once.
    func printSecrets() {
        if let secret { print("its backend checks signatures with this secret, which nothing shows again: \(secret)") }
        if let publicKey { print("or with this public key: \(publicKey)") }
    }
}

/// What came of a test message.
struct PingReport: Encodable, Sendable {
    let id: String
    /// `pending`, `delivered`, `failed`.
    let state: String
    let askedAt: String
    let status: Int?
    let error: String?
    let milliseconds: Int?

    /// One that was sent from here.
    ///
    /// - Parameter error: nil where the endpoint took it.
    init(id: String, askedAt: Date, status: Int?, error: String?, milliseconds: Int) {
        self.id = id
        state = error == nil ? "delivered" : "failed"
        self.askedAt = MessageCoding.text(askedAt)
        (self.status, self.error, self.milliseconds) = (status, error, milliseconds)
    }

    init(_ ping: WebhookPingStore.Ping) {
        id = ping.id
        state = ping.finishedAt == nil ? "pending" : ping.error == nil ? "delivered" : "failed"
        askedAt = MessageCoding.text(ping.askedAt)
        (status, error, milliseconds) = (ping.status, ping.error, ping.milliseconds)
    }

    /// As a person reads it.
    var text: String {
        switch state {
        case "pending": "not sent yet (asked for at \(askedAt))"
        case "delivered": "answered \(status ?? 0) after \(milliseconds ?? 0) ms (asked for at \(askedAt))"
        default: "failed (asked for at \(askedAt)): \(error ?? "")"
        }
    }
}
