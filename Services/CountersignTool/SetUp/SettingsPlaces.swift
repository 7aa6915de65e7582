import ArgumentParser
import Foundation
import ServiceRuntime

/// Where the settings that the commands write are.
struct SettingsPlaces: Sendable {
    /// The variable by which systemd names the folder of what `LoadCredential=` loads (systemd.exec(5)).
    static let credentialsVariable = "CREDENTIALS_DIRECTORY"

    let apps: String
    let catalogue: String
    let webhooks: String
    /// Variables of the services.
    let variables: String
    /// The folder of the secrets, a file each.
    let secrets: String
    /// Whether settings name secrets without the folder, as credentials of systemd.
    let namesCredentials: Bool
    /// What the services' readers are given in place of the process's environment.
    let environment: [String: String]

    /// Takes the folder that is named, or the one of `COUNTERSIGN_APPS_FILE`; a file that has a variable is where it says.
    ///
    /// - Throws: `ToolFailure` where there is neither, or a path that a shell would take apart.
    init(folder: String?, settings: ToolSettings) throws {
        let apps = folder == nil ? try settings.reader.string("apps.file") : nil
        let webhooks = folder == nil ? try settings.reader.string("webhooks.file") : nil
        let catalogue = folder == nil ? try settings.reader.string("catalogue.file") : nil
        guard let base = folder ?? (apps ?? webhooks).map({ URL(filePath: $0).deletingLastPathComponent().path }) else {
            throw ToolFailure("--dir is missing: the folder of the settings; or set COUNTERSIGN_APPS_FILE")
        }
        try self.init(
            folder: URL(filePath: base).standardizedFileURL.path, apps: apps, catalogue: catalogue, webhooks: webhooks,
            environment: ProcessInfo.processInfo.environment)
    }

    /// Takes a folder, and files that are elsewhere.
    ///
    /// - Throws: `ToolFailure` for a path that a shell would take apart.
    init(
        folder: String, apps: String? = nil, catalogue: String? = nil, webhooks: String? = nil,
        environment: [String: String]
    ) throws(ToolFailure) {
        let isPlain = folder.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "/._-+@".contains($0)) }
        guard folder.hasPrefix("/"), isPlain else {
            throw ToolFailure("the folder's path may have letters, digits and . _ - + @ in it: \(folder)")
        }
        self.apps = apps ?? "\(folder)/apps.yaml"
        self.catalogue = catalogue ?? "\(folder)/catalogue.yaml"
        self.webhooks = webhooks ?? "\(folder)/webhooks.yaml"
        variables = "\(folder)/countersign.env"
        let credentials = environment[Self.credentialsVariable] ?? ""
        namesCredentials = !credentials.isEmpty
        secrets = namesCredentials ? credentials : "\(folder)/secrets"
        self.environment = environment
    }

    /// How the settings name a secret.
    func reference(to secret: String) -> String {
        namesCredentials ? secret : "\(secrets)/\(secret)"
    }
}

/// The option of every command that writes settings.
struct SettingsFolderOption: ParsableArguments {
    @Option(
        name: .customLong("dir"),
        help: "The folder of the settings; without it the files that COUNTERSIGN_APPS_FILE and so on name.",
        completion: .directory)
    var folder: String?

    func places() async throws -> SettingsPlaces {
        try SettingsPlaces(folder: folder, settings: try await ToolSettings.load())
    }
}
