import ArgumentParser
import ServiceRuntime

/// `countersign webhooks`: where webhooks go, and which go again.
struct WebhookCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "webhooks",
        abstract:
            "Manages webhook endpoints, shows deliveries, and sends webhooks again.",
        discussion: """
            An endpoint of the database has an id that begins with we_; every other name is one of the webhooks file. A \
            command finds out by that which of the two is meant.
            """,
        subcommands: [
            Add.self, List.self, Show.self, Change.self, Remove.self, Enable.self, Disable.self, Ping.self, Rotate.self,
            ExpireSecret.self, Resend.self, Deliveries.self, Attempts.self,
        ], aliases: ["webhook"])
}

/// An endpoint that is to be written down.
struct NewEndpoint {
    static let secretName = "webhook-secret"

    var id: String
    var url: String
    var events: [String] = []
    var apps: [String] = []
    var environments: [String] = []
    var allowsPrivateAddresses = false
    var secret: String

    /// Adds it to the webhooks file.
    ///
    /// - Returns: the name of its secret.
    /// - Throws: `ToolFailure`, where the name is taken for instance.
    func add(
        to change: inout SettingsChange, in places: SettingsPlaces, template: String? = nil
    ) throws -> String {
        var webhooks = try change.settings(.webhooks, template: template)
        let ids = webhooks.texts("id", ofListAt: [.field("endpoints")])
        guard !ids.contains(id) else { throw ToolFailure("\(id) is in \(webhooks.path) already; change it there") }
        let name = change.add(secret: Self.secretName, or: id, secret)
        var fields: [(name: String, value: SettingValue)] = [
            ("id", .text(id)), ("url", .text(url)), ("secret_file", .text(places.reference(to: name))),
        ]
        for (field, values) in [("events", events), ("apps", apps), ("environments", environments)]
        where !values.isEmpty {
            fields.append((field, .list(values.map { .text($0) })))
        }
        if allowsPrivateAddresses { fields.append(("allow_private_addresses", .flag(true))) }
        try webhooks.add(.fields(fields), toListAt: [.field("endpoints")])
        change.set(.webhooks, webhooks.text)
        return name
    }
}
