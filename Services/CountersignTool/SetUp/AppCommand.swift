import ArgumentParser
import ServiceRuntime

/// `countersign app`: the apps that are served.
struct AppCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "app", abstract: "Adds an app to the apps file, or a key for subscription offers to an app.",
        subcommands: [Add.self, Offers.self])

    /// `countersign app add`.
    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "add", abstract: "Adds an app; the rest of the file stays as it is.",
            discussion: """
                Asks for what no option says, if a person is at the terminal. A key that is beside the apps already is not \
                written again.
                """)

        @Argument(help: "The app's bundle id.") var bundleId: String?
        @OptionGroup var connect: AppStoreConnectOptions
        @OptionGroup var offers: OfferKeyOptions
        @Flag(inversion: .prefixedNo, help: "Whether the app was ever released; it was if it has an Apple ID.")
        var released: Bool?
        @Option(help: "How sandbox purchases are treated: accept, test or refuse.")
        var sandbox: AppsFile.SandboxPolicy?
        @Option(help: "How receipts are verified: offline, verify_receipt or offline_then_verify_receipt.")
        var receipts: AppsFile.ReceiptPolicy?
        @Option(help: "What proves a purchase: proof or number.")
        var possession: AppsFile.PossessionPolicy?
        @OptionGroup var printing: PrintingOptions
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
                    key: try connect.key(),
                    offers: NewOffers(
                        key: try offers.key(issuerId: connect.issuerId),
                        playerOffers: offers.playerOffers?.offers ?? []))
                var change = SettingsChange(in: places)
                try app.add(to: &change, in: places)
                try change.apply()
                var report = SetUpReport(change, in: places)
                report.next = ["list what it sells in \(places.catalogue)", "`countersign apple check \(bundleId)`"]
                let lines =
                    ["\(bundleId) is in \(places.apps)"] + SetUpAdvice.lines(change, in: places)
                    + ["next: \(report.next.joined(separator: "; "))"]
                try printing.answer(report, lines.joined(separator: "\n"))
            }
        }
    }

    /// `countersign app offers`.
    struct Offers: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "offers", abstract: "Adds the key that signs an app's subscription offers.",
            discussion: """
                Make it a second In-App Purchase key in App Store Connect: receipt-intake, which faces the players, has it, \
                and needs none to Apple's servers. Where the app has its key, --player-offers alone adds offers that every \
                player may have signed. receipt-intake knows within seconds, without a restart.
                """)

        @Argument(help: "The app's bundle id.") var bundleId: String
        @OptionGroup var offers: OfferKeyOptions
        @OptionGroup var printing: PrintingOptions
        @OptionGroup var folder: SettingsFolderOption

        func validate() throws {
            guard offers.offerKeyId != nil || offers.offerPrivateKey != nil || offers.playerOffers != nil else {
                throw ValidationError("--offer-key-id with --offer-private-key is missing, or --player-offers")
            }
        }

        func run() async throws {
            try await failingPlainly {
                let places = try await folder.places()
                var change = SettingsChange(in: places)
                let apps = try change.settings(.apps)
                let new = NewOffers(
                    key: try offers.key(issuerId: apps.issuerId(of: bundleId)),
                    playerOffers: offers.playerOffers?.offers ?? [])
                try new.add(to: bundleId, &change, in: places)
                try change.apply()
                let lines =
                    ["\(bundleId) in \(places.apps) has what signs its offers"] + SetUpAdvice.lines(change, in: places)
                try printing.answer(SetUpReport(change, in: places), lines.joined(separator: "\n"))
            }
        }
    }
}
