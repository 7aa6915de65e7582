import ArgumentParser
import Foundation

/// `app-store-simulator listen`: shows the simulator's server notifications as they come about, and forwards them.
struct ListenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "listen",
        abstract: "Shows server notifications of the App Store simulator as they come about, and forwards them.",
        discussion: """
            Ends with Ctrl-C. Goes on when the simulator is started again. What is forwarded is what Apple posts:
            {"signedPayload": "…"}. Signed payloads are not printed; --print-json shows the decoded ones.
            """)

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
            guard let url = URL(string: forwardTo), ["http", "https"].contains(url.scheme), url.host != nil else {
                throw ValidationError("--forward-to must be a URL such as http://localhost:8080/notifications")
            }
        }
        for type in wantedTypes where NotificationMenu.entry(type) == nil {
            throw ValidationError("no notification type is \"\(type)\"; app-store-simulator trigger --list shows them")
        }
    }

    func run() async throws {
        try await failingPlainly {
            let base = try ControlClient.base(simulator)
            try await HTTPCaller.with(connections: 4, retriesConnecting: false) { http in
                let listener = NotificationListener(
                    control: ControlClient(http: http, base: base), forwardTo: forwardTo, bundleId: bundleId,
                    types: Set(wantedTypes), printsJSON: printJSON, once: once
                ) { line in
                    // A line is seen at once, also through a pipe.
                    FileHandle.standardOutput.write(Data((line + "\n").utf8))
                }
                _ = try await Interruption.run { try await listener.listen() }
            }
        }
    }

    private var wantedTypes: [String] {
        (types ?? "").split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces).uppercased() }
    }
}
