import ArgumentParser
import Foundation
import ServiceRuntime
import WebhookSigning

/// `countersign webhooks`: where webhooks go, and which go again.
struct WebhookCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "webhooks",
        abstract: "Adds or tries an endpoint, switches one on again, and has webhooks sent again.",
        subcommands: [Add.self, Ping.self, Enable.self, Resend.self], aliases: ["webhook"])

    /// `countersign webhooks add`.
    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "add", abstract: "Adds an endpoint, with a secret that is made for it.")

        @Argument(help: "The endpoint's name in tables, logs and metrics.") var id: String
        @Argument(help: "Its address, https://…") var url: String
        @Option(help: "A type of events that it takes, * at the end for all that begin so; several times for several.")
        var event: [String] = []
        @Option(help: "A bundle id whose events it takes; several times for several.") var app: [String] = []
        @Option(help: "production or sandbox; both without it.") var environment: [String] = []
        @Flag(help: "Allows plain HTTP and addresses inside the own network, for development.")
        var allowPrivateAddresses = false
        @Option(help: "A file with the secret to use (whsec_…), which is copied, in place of a new one.")
        var secretFile: String?
        @OptionGroup var folder: SettingsFolderOption

        func run() async throws {
            try await failingPlainly {
                let places = try await folder.places()
                let endpoint = NewEndpoint(
                    id: id, url: url, events: event, apps: app, environments: environment,
                    allowsPrivateAddresses: allowPrivateAddresses,
                    secret: try secretFile.map { try SettingsDisk.input($0) } ?? WebhookSecret.generate().reveal())
                var change = SettingsChange(in: places)
                let secret = try endpoint.add(to: &change, in: places)
                try change.apply()
                print("\(id) is in \(places.webhooks)")
                print("its backend checks signatures with the secret in \(places.secrets)/\(secret)")
                SetUpAdvice.tell(change, in: places)
                print("next: `countersign webhooks ping \(id)`")
            }
        }
    }

    /// `countersign webhooks ping`.
    struct Ping: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "ping", abstract: "Sends an endpoint one signed message of the type countersign.ping.",
            discussion: """
                It is sent at once, from here, whatever events the endpoint takes, and is not tried again. Unlike the \
                service, this looks up no host to refuse addresses inside the own network.
                """)

        @Argument(help: "The endpoint's name.") var id: String
        @Option(help: "Seconds that the endpoint has for its answer.") var timeout = 15.0
        @OptionGroup var folder: SettingsFolderOption

        func validate() throws {
            guard (0.1...60).contains(timeout) else { throw ValidationError("--timeout is from 0.1 to 60 seconds") }
        }

        func run() async throws {
            try await failingPlainly {
                let places = try await folder.places()
                let file = try WebhooksFile.load(path: places.webhooks)
                guard let endpoint = file.endpoints.first(where: { $0.id == id }) else {
                    throw ToolFailure("\(id) is not in \(places.webhooks)")
                }
                let answer = try await WebhookPing(endpoint: endpoint, timeout: .seconds(timeout)).send()
                print(answer)
            }
        }
    }
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
