import ArgumentParser
import Foundation
import ServiceRuntime

extension ServerKey.Scope: ExpressibleByArgument {}

/// `countersign key`: the API keys of backends.
struct KeyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "key", abstract: "Creates, lists and removes API keys for backends.",
        subcommands: [Create.self, List.self, Remove.self])

    /// `countersign key create`.
    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "create", abstract: "Creates an API key, and adds its SHA-256 to the apps file.",
            discussion: """
                The key is shown once, alone on standard output, and kept nowhere. Without --app it is good for every app \
                that has no `authentication` of its own. Give each backend a name, and its keys no more scopes than it needs; \
                a name may have two keys at a time, so that one can take the other's place. A key of --test begins with \
                csk_test_ and sees and changes the sandbox alone.
                """)

        @Option(help: "The key's name: letters, digits and . _ -; metrics, logs and `key list` show it.")
        var name: String?
        @Option(
            help: "What it may be used for, with commas between: post, read, spend, sign, operate, staff.",
            completion: .list(ServerKey.Scope.allCases.map(\.rawValue)))
        var scopes: ScopeList?
        @Option(help: "The app that it is good for, which has an `authentication` of its own.") var app: String?
        @Flag(help: "Makes a test key, for the sandbox alone; it may post, read and spend.") var test = false
        @Option(
            help: "A new file that the key is written to, with mode 600, instead of being shown.", completion: .file())
        var output: String?
        @OptionGroup var printing: PrintingOptions
        @OptionGroup var folder: SettingsFolderOption

        func validate() throws {
            guard (name == nil) == (scopes == nil) else {
                throw ValidationError(
                    "--name and --scopes belong together; without both a key may post, read and spend, and has no name")
            }
            guard !test || scopes?.scopes.isSubset(of: ServerKey.scopesOfUnnamed) == true else {
                throw ValidationError("--test goes with --name and with --scopes out of post, read and spend")
            }
        }

        func run() async throws {
            try await failingPlainly {
                let places = try await folder.places()
                let key = SecretText.apiKey(isTest: test)
                var change = SettingsChange(in: places)
                let new = NewKey(
                    sha256: SecretText.sha256(of: key), name: name, scopes: scopes?.scopes ?? [], app: app, isTest: test
                )
                try new.add(to: &change)
                // First: a key that nobody has got is no harm in a file that nobody accepts it by.
                if let output { try SettingsDisk.create(output, key + "\n", mode: SettingsChange.Limit.secretMode) }
                do { try change.apply() } catch {
                    if let output { try? FileManager.default.removeItem(atPath: output) }
                    throw error
                }
                var report = SetUpReport(change, in: places)
                if output == nil { report.apiKey = key } else { report.apiKeyFile = output }
                if printing.json || output == nil { try printing.answer(report, key) }
                let place = output.map { "it is in \($0)" } ?? "it is not shown again"
                let whose = name.map { "the API key of \($0) for" } ?? "the API key of"
                SetUpAdvice.note("\(whose) \(app ?? "every app"): \(place); \(places.apps) has its SHA-256")
            }
        }
    }

    /// `countersign key list`.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "Lists the API keys of the apps file, with names, scopes and apps.",
            discussion: """
                A key is told by the first digits of its SHA-256. With --service, once for each receipt-intake, it says how \
                often each key was used since these processes started: an old key that nobody uses can be removed.
                """)

        @Option(help: "The admin address of a receipt-intake, such as http://127.0.0.1:9401; once for each.")
        var service: [String] = []
        @OptionGroup var printing: PrintingOptions
        @OptionGroup var folder: SettingsFolderOption

        func run() async throws {
            try await failingPlainly {
                let places = try await folder.places()
                let apps = try AppsFile.load(path: places.apps, secrets: .callers, environment: places.environment)
                var pages: [MetricsPage] = []
                for base in service { pages.append(try await MetricsPage.fetch(base)) }
                let list = KeyList(apps, pages: pages)
                try printing.answer(list.lines, list.text)
            }
        }
    }

    /// `countersign key remove`.
    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove", abstract: "Removes an API key from the apps file; a request with it then gets 401.",
            discussion: """
                The key is told by the first digits of its SHA-256, as `key list` prints them. With --service, once for each \
                receipt-intake, a key that was used since these processes started is left alone, unless --used is given. \
                receipt-intake knows within seconds, without a restart.
                """)

        @Argument(help: "The first digits of the key's SHA-256, eight or more.") var key: String
        @Option(help: "The admin address of a receipt-intake, such as http://127.0.0.1:9401; once for each.")
        var service: [String] = []
        @Flag(help: "Removes the key although it was used, for example because it was stolen.") var used = false
        @OptionGroup var printing: PrintingOptions
        @OptionGroup var folder: SettingsFolderOption

        func run() async throws {
            try await failingPlainly {
                let places = try await folder.places()
                let removal = try ServerKeyRemoval(key)
                let apps = try AppsFile.load(path: places.apps, secrets: .callers, environment: places.environment)
                let key = try removal.key(in: apps, path: places.apps)
                var pages: [MetricsPage] = []
                for base in service { pages.append(try await MetricsPage.fetch(base)) }
                // One hash may stand under several names.
                let lines = KeyList(apps, pages: pages).lines.filter { $0.fingerprint == key.fingerprint }
                let uses = lines.reduce(0) { $0 + ($1.uses ?? 0) }
                guard uses == 0 || used else {
                    throw ToolFailure(
                        "\(key.label) \(key.fingerprint) was used \(uses) times since receipt-intake started; nothing was "
                            + "changed: give its backend the new key, or say --used")
                }
                var change = SettingsChange(in: places)
                try removal.remove(key, from: &change)
                try change.apply()
                let bundleIds = Set(lines.flatMap(\.apps)).sorted().joined(separator: ", ")
                try printing.answer(
                    ["removed": lines],
                    "\(key.label) \(key.fingerprint) is removed from \(places.apps): it was good for \(bundleIds)")
            }
        }
    }
}

/// Scopes on a command line, with commas between them.
struct ScopeList: ExpressibleByArgument {
    let scopes: Set<ServerKey.Scope>

    init?(argument: String) {
        let names = argument.split(separator: ",", omittingEmptySubsequences: false)
        let scopes = names.compactMap { ServerKey.Scope(rawValue: String($0)) }
        guard scopes.count == names.count else { return nil }
        self.scopes = Set(scopes)
    }
}
