import AppStoreServerAPI
import ArgumentParser
import AsyncHTTPClient
import Foundation
import NIOCore
import ServiceRuntime

/// `countersign apple`: whether Apple and this installation understand each other.
struct AppleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apple", abstract: "Asks Apple: tests an app's key, finds purchases, lists notifications.",
        subcommands: [
            Check.self, TestNotification.self, SweepCommand.self, ReconcileCommand.self, NotificationsCommand.self,
        ])

    /// `countersign apple check`.
    struct Check: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "check",
            abstract: "Calls Apple with an app's key, and requests a test notification; exits with 2 if one fails.",
            discussion: """
                Asks production and the sandbox, each for its notifications of the last day (which needs no purchase) and for \
                a test notification, and waits until Apple says what your server answered to it.
                """)

        @Argument(help: "The app's bundle id, as in the apps file.") var app: String
        @Option(
            help: "production or sandbox; both without it.", completion: AppleCommand.environments,
            transform: AppleCommand.environment)
        var environment: AppStoreEnvironment?
        @Option(help: "Seconds to wait for Apple's report about the test notification.") var wait = 60.0
        @Flag(inversion: .prefixedNo, help: "Asks for a test notification.") var notification = true
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
                    wait: .seconds(wait), sendsNotification: notification)
                var findings: [Finding] = []
                for environment in environment.map({ [$0] }) ?? AppStoreEnvironment.allCases {
                    let new = await check.run(in: environment)
                    if !printing.json { for finding in new { print(finding.text) } }
                    findings += new
                }
                await check.close()
                if printing.json { print(try ToolOutput.json(findings)) }
                guard !findings.contains(where: { $0.level == .wrong }) else { throw ToolExit.found }
            }
        }
    }

    static let environments = CompletionKind.list(AppStoreEnvironment.allCases.map(AppleJudgement.name))

    static func environment(_ name: String) throws -> AppStoreEnvironment {
        guard let environment = AppStoreEnvironment.allCases.first(where: { AppleJudgement.name($0) == name })
        else {
            throw ValidationError("--environment is production or sandbox")
        }
        return environment
    }

    static func app(_ id: String, in path: String) throws -> AppsFile.App {
        guard let app = try AppsFile.load(path: path, secrets: .apple).apps[id] else {
            throw ToolFailure("\(id) is not in \(path); `countersign app add` adds it")
        }
        return app
    }

    /// The hosts that the worker asks, by the same variables.
    static func hosts(_ settings: SettingReader) throws -> AppStoreHosts {
        AppStoreHosts(
            production: try settings.string(
                "app_store.production_url", default: AppStoreHosts.apple.production),
            sandbox: try settings.string("app_store.sandbox_url", default: AppStoreHosts.apple.sandbox))
    }
}
