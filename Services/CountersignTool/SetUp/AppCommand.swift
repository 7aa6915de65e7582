import ArgumentParser
import ServiceRuntime

/// `countersign app`: the apps that are served.
struct AppCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "app", abstract: "Adds an app to the apps file.", subcommands: [Add.self])

    /// `countersign app add`.
    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "add", abstract: "Adds an app; what is in the file stays as it is.",
            discussion: """
                Asks for what no option says, if a person is at the terminal. A key that is beside the apps already is not \
                written again.
                """)

        @Argument(help: "The app's bundle id.") var bundleId: String?
        @OptionGroup var connect: AppStoreConnectOptions
        @Flag(inversion: .prefixedNo, help: "Whether the app was ever released; it was if it has an Apple ID.")
        var released: Bool?
        @Option(help: "What becomes of sandbox purchases: accept, test or refuse.")
        var sandbox: AppsFile.SandboxPolicy?
        @Option(help: "How receipts are verified: offline, verify_receipt or offline_then_verify_receipt.")
        var receipts: AppsFile.ReceiptPolicy?
        @Option(help: "What shows that a player bought something: proof or number.")
        var possession: AppsFile.PossessionPolicy?
        @OptionGroup var folder: SettingsFolderOption

        func run() async throws {
            try await failingPlainly {
                let places = try await folder.places()
                var connect = connect
                let isAsking = bundleId == nil
                let bundleId = try Terminal.required(bundleId, "The bundle id", "The app's bundle id")
                if isAsking { try connect.askForMissing() }
                let app = NewApp(
                    bundleId: bundleId, appAppleId: connect.appAppleId, released: released, sandbox: sandbox,
                    receipts: receipts, possession: possession,
                    sharedSecret: try connect.sharedSecretFile.map { try SettingsDisk.input($0) },
                    key: try connect.key())
                var change = SettingsChange(in: places)
                try app.add(to: &change, in: places)
                try change.apply()
                print("\(bundleId) is in \(places.apps)")
                SetUpAdvice.tell(change, in: places)
                print("next: list what it sells in \(places.catalogue); `countersign apple check \(bundleId)`")
            }
        }
    }
}
