import AppStoreServerAPI
import ArgumentParser
import ServiceRuntime

extension AppleCommand {
    /// `countersign apple test-notification`.
    struct TestNotification: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "test-notification",
            abstract:
                "Requests a test notification from Apple, and reports whether it arrived; exits with 2 if it did not.",
            discussion: """
                Asks Apple for it, and then what your server answered. `countersign doctor` tells when the last one was \
                recorded.
                """)

        @Argument(help: "The app's bundle id, as in the apps file.") var app: String
        @Option(
            help: "production or sandbox.", completion: AppleCommand.environments, transform: AppleCommand.environment)
        var environment = AppStoreEnvironment.production
        @Option(help: "Seconds to wait for Apple's report.") var wait = 60.0
        @OptionGroup var printing: PrintingOptions
        @OptionGroup var folder: SettingsFolderOption

        func validate() throws {
            guard (1...600).contains(wait) else { throw ValidationError("--wait is from 1 to 600 seconds") }
        }

        func run() async throws {
            try await failingPlainly {
                let settings = try await ToolSettings.load()
                let places = try SettingsPlaces(folder: folder.folder, settings: settings)
                let check = try AppleCheck(
                    app: try AppleCommand.app(app, in: places.apps), hosts: try AppleCommand.hosts(settings.reader),
                    wait: .seconds(wait), sendsNotification: true)
                let finding = await check.notification(in: environment)
                await check.close()
                try printing.answer([finding], finding.text)
                // Also where Apple does not say in time: nobody knows then that it came.
                guard finding.level == .good else {
                    throw finding.level == .wrong ? ToolExit.found : ToolExit.underWay
                }
            }
        }
    }
}
