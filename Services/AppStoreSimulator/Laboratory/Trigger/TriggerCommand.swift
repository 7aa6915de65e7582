import ArgumentParser
import Foundation

/// `app-store-simulator trigger`: has the simulator send a server notification, as Apple never does on demand.
struct TriggerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "trigger",
        abstract: "Makes the App Store simulator send a server notification of a type.",
        discussion: """
            What the notification is about is made when it is missing: for REFUND something is sold and refunded. An
            override changes what the decoded payload says: --override data.status=2.
            """)

    @Argument(help: "The notification's type, such as REFUND; --list shows them.") var type: String?
    @Flag(help: "Lists the types with their subtypes.") var list = false
    @Option(help: "Its subtype, such as VOLUNTARY.") var subtype: String?
    @Option(help: "The app's bundle id.") var bundleId: String?
    @Option(help: "Production or Sandbox.") var environment: String?
    @Option(help: "Whose Apple ID it is about.") var account: String?
    @Option(help: "A field of the decoded payload and its value: PATH=VALUE. May be repeated.")
    var override: [String] = []
    @Option(help: "The simulator's address. Default: COUNTERSIGN_SIMULATOR_URL, or \(ControlClient.defaultBase).")
    var simulator: String?
    @Flag(help: "Prints the notifications, or the types, as JSON.") var json = false

    func validate() throws {
        guard list || type != nil else { throw ValidationError("which type? --list shows them") }
        if let type { try TriggerRequest.check(type, subtype) }
        guard environment.map({ ["Production", "Sandbox"].contains($0) }) ?? true else {
            throw ValidationError("--environment is Production or Sandbox")
        }
        guard override.count <= TriggerRequest.Limit.overrides else {
            throw ValidationError("--override: at most \(TriggerRequest.Limit.overrides)")
        }
        for text in override { _ = try TriggerRequest.override(text) }
    }

    /// All types with their subtypes, and what is played, a line each.
    private static var menu: String {
        TriggerKind.all.map { kind in
            let subtype = kind.subtype.map { " --subtype \($0.rawValue)" } ?? ""
            return ToolOutput.padded(kind.type.rawValue + subtype, 58) + kind.summary
        }.joined(separator: "\n")
    }

    func run() async throws {
        guard let type, !list else {
            print(json ? "[\(TriggerKind.all.map(\.description).joined(separator: ","))]" : Self.menu)
            return
        }
        try await failingPlainly {
            let base = try ControlClient.base(simulator)
            let request = try TriggerRequest(
                type: type.uppercased(), subtype: subtype?.uppercased(), bundleId: bundleId, environment: environment,
                account: account, overrides: override)
            let sent = try await HTTPCaller.with(connections: 2, retriesConnecting: false) { http in
                try await request.send(to: ControlClient(http: http, base: base))
            }
            print(json ? try ToolOutput.json(sent) : sent.map(\.text).joined(separator: "\n"))
        }
    }
}
