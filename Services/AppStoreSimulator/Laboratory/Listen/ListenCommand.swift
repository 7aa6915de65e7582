import ArgumentParser
import Foundation
import WebhookSigning

/// `app-store-simulator listen`: shows the simulator's server notifications, or Countersign's events, as they come about,
/// and forwards them.
struct ListenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "listen",
        abstract: "Shows server notifications of the App Store simulator, or Countersign's events, and forwards them.",
        discussion: """
            Ends with Ctrl-C. Goes on when the simulator is started again. What is forwarded is what Apple posts:
            {"signedPayload": "…"}. Signed payloads are not printed; --print-json shows the decoded ones.

            With --events it follows the events of one app at Countersign instead, and forwards each as a webhook, signed with
            the secret of --secret-file, or with a new one that it prints. It asks, so this machine need not be reached.
            """)

    @Flag(help: "Countersign's events, instead of Apple's notifications.") var events = false
    @Option(help: "With --events: intake's address. Default: COUNTERSIGN_RECEIPT_INTAKE_URL.") var intake: String?
    @Option(help: "With --events: a file with a server API key of the scope read. Default: COUNTERSIGN_API_KEY.")
    var apiKeyFile: String?
    @Option(help: "With --events: a file with the secret, whsec_…, to sign with.") var secretFile: String?

    @Option(help: "Posts each notification to this URL.") var forwardTo: String?
    @Option(help: "Only of this app.") var bundleId: String?
    @Option(help: "Only these types, with commas between: REFUND,DID_RENEW.") var types: String?
    @Flag(help: "Prints each decoded payload as JSON.") var printJSON = false
    @Option(help: "Ends after so many notifications.") var once: Int?
    @Option(help: "The simulator's address. Default: COUNTERSIGN_SIMULATOR_URL, or \(ControlClient.defaultBase).")
    var simulator: String?

    func validate() throws {
        guard once.map({ (1...1_000_000).contains($0) }) ?? true else {
            throw ValidationError("--once is from 1 to 1000000")
        }
        if let forwardTo {
            guard LaboratorySettings.isAddress(forwardTo) else {
                throw ValidationError("--forward-to must be a URL such as http://localhost:8080/notifications")
            }
        }
        if events, bundleId == nil {
            throw ValidationError("--events wants --bundle-id: the app whose events are meant")
        }
        for type in wantedTypes where !events && TriggerKind.subtypes(of: type) == nil {
            throw ValidationError("no notification type is \"\(type)\"; app-store-simulator trigger --list shows them")
        }
    }

    func run() async throws {
        try await failingPlainly {
            if events { return try await followEvents() }
            let base = try ControlClient.base(simulator)
            try await HTTPCaller.with(connections: 4, retriesConnecting: false) { http in
                let listener = NotificationListener(
                    control: ControlClient(http: http, base: base), forwardTo: forwardTo, bundleId: bundleId,
                    types: Set(wantedTypes), printsJSON: printJSON, once: once,
                    show: Self.show)
                _ = try await Interruption.run { try await listener.listen() }
            }
        }
    }

    /// - Throws: `ToolFailure`.
    private func followEvents() async throws {
        let settings = LaboratorySettings()
        guard let intake = intake ?? settings.receiptIntakeURL else {
            throw ToolFailure("where is intake? Give --intake or COUNTERSIGN_RECEIPT_INTAKE_URL")
        }
        let key = try apiKeyFile.map(LaboratorySettings.secret(in:)) ?? settings.apiKey()
        let secret: WebhookSecret? = try secretFile.map { path in
            do { return try WebhookSecret(try LaboratorySettings.secret(in: path)) } catch let error as ToolFailure {
                throw error
            } catch { throw ToolFailure("\(path): \(error)") }
        }
        let own = WebhookSecret.generate()
        if secret == nil, forwardTo != nil { Self.show("The webhooks are signed with \(own.reveal())") }
        let types = (types ?? "").split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
        let app = bundleId ?? ""
        try await HTTPCaller.with(connections: 4, retriesConnecting: false) { http in
            let listener = EventListener(
                http: http, intake: intake.hasSuffix("/") ? String(intake.dropLast()) : intake, app: app, apiKey: key,
                types: types, forwardTo: forwardTo, secret: secret ?? own, printsJSON: printJSON, once: once,
                show: Self.show)
            _ = try await Interruption.run { try await listener.listen() }
        }
    }

    /// A line is seen at once, also through a pipe.
    @Sendable
    private static func show(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

    private var wantedTypes: [String] {
        (types ?? "").split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces).uppercased() }
    }
}
