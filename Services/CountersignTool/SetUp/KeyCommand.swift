import ArgumentParser
import Foundation

/// `countersign key`: the API keys of backends.
struct KeyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "key", abstract: "Makes an API key for a backend.", subcommands: [Create.self])

    /// `countersign key create`.
    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "create", abstract: "Makes an API key, and adds its SHA-256 to the apps file.",
            discussion: """
                The key is shown once, alone on standard output, and kept nowhere. Without --app it is good for every app \
                that has no `authentication` of its own.
                """)

        @Option(help: "The app that it is good for, which has an `authentication` of its own.") var app: String?
        @Option(help: "A new file that the key is written to, with mode 600, instead of being shown.")
        var output: String?
        @OptionGroup var folder: SettingsFolderOption

        func run() async throws {
            try await failingPlainly {
                let places = try await folder.places()
                let key = SecretText.apiKey()
                var change = SettingsChange(in: places)
                try NewKey(sha256: SecretText.sha256(of: key), app: app).add(to: &change)
                // First: a key that nobody has got is no harm in a file that nobody accepts it by.
                if let output { try SettingsDisk.create(output, key + "\n", mode: SettingsChange.Limit.secretMode) }
                do { try change.apply() } catch {
                    if let output { try? FileManager.default.removeItem(atPath: output) }
                    throw error
                }
                if output == nil { print(key) }
                let place = output.map { "it is in \($0)" } ?? "it is not shown again"
                SetUpAdvice.note("the API key of \(app ?? "every app"): \(place); \(places.apps) has its SHA-256")
            }
        }
    }
}

/// The hash of an API key that is to be written down.
struct NewKey {
    let sha256: String
    /// The app that it is good for; nil for all that have no `authentication` of their own.
    var app: String?

    /// Adds it to the apps file.
    ///
    /// - Throws: `ToolFailure`.
    func add(to change: inout SettingsChange, template: String? = nil) throws {
        var apps = try change.settings(.apps, template: template)
        let place = try self.place(in: apps)
        let list = place + [.field("api_keys_sha256")]
        if apps.has(list) {
            try apps.add(.text(sha256), toListAt: list)
        } else if apps.has(place) {
            try apps.add("api_keys_sha256", .list([.text(sha256)]), toMappingAt: place)
        } else {
            let value = SettingValue.fields([("api_keys_sha256", .list([.text(sha256)]))])
            try apps.add("authentication", value, toMappingAt: place.dropLast())
        }
        change.set(.apps, apps.text)
    }

    /// Where the `authentication` is that the key belongs to.
    private func place(in apps: SettingsText) throws -> [SettingsText.Step] {
        guard let app else { return [.field("authentication")] }
        guard let number = apps.bundleIds.firstIndex(of: app) else {
            throw ToolFailure("\(app) is not in \(apps.path); `countersign app add` adds it")
        }
        let place: [SettingsText.Step] = [.field("apps"), .entry(number), .field("authentication")]
        guard apps.has(place) || !apps.has([.field("authentication")]) else {
            throw ToolFailure(
                "\(app) has no `authentication` of its own: with one, the keys that stand beside the apps would not be "
                    + "good for it any more. Leave --app out, or give it an `authentication` by hand")
        }
        return place
    }
}
