import AppStoreServerAPI
import Foundation
import ServiceRuntime
import WebhookSigning

/// Files that change together: new secrets, and settings that name them.
///
/// Settings are written beside the file that they are to replace, read by the services' own reader, and renamed; where a
/// mistake is found, nothing has changed and the new secrets are gone.
struct SettingsChange {
    enum Limit {
        /// The modes of what is new; a file that is there keeps its mode and its owner.
        static let secretMode: mode_t = 0o600
        static let settingsMode: mode_t = 0o640
        static let folderMode: mode_t = 0o700
    }

    /// What a file of settings is, and so who reads it.
    enum Kind {
        case apps, catalogue, webhooks, variables
    }

    private struct File {
        let kind: Kind
        let path: String
        /// As it was when the change was made up; nil for a file that is new.
        let old: String?
        var new: String
    }

    private let places: SettingsPlaces
    private var files: [File] = []
    private var secrets: [(name: String, text: String)] = []

    init(in places: SettingsPlaces) {
        self.places = places
    }

    /// The names of the secrets that are new.
    var secretNames: Set<String> { Set(secrets.map(\.name)) }

    /// The paths of what is changed or new.
    var paths: [String] {
        files.filter { $0.old != $0.new }.map(\.path) + secrets.map { "\(places.secrets)/\($0.name)" }
    }

    /// Whether a secret is there already.
    func hasSecret(_ name: String) -> Bool {
        FileManager.default.fileExists(atPath: "\(places.secrets)/\(name)")
    }

    /// Writes a secret down under a name that none has.
    mutating func add(secret name: String, _ text: String) {
        secrets.append((name, text.hasSuffix("\n") ? text : text + "\n"))
    }

    /// Writes a secret down: under its plain name, or, where that is another secret's, with an ending.
    ///
    /// - Returns: its name; one that is there with the same text is taken as it is.
    mutating func add(secret name: String, or ending: String, _ text: String) -> String {
        let safe = String(ending.map { $0.isASCII && ($0.isLetter || $0.isNumber || "._-".contains($0)) ? $0 : "-" })
        let parts = name.split(separator: ".", maxSplits: 1)
        let longer = "\(parts[0])-\(safe)" + (parts.count == 2 ? ".\(parts[1])" : "")
        for name in [name, longer] where !secretNames.contains(name) {
            guard hasSecret(name) else {
                add(secret: name, text)
                return name
            }
            let old = try? SettingsDisk.input("\(places.secrets)/\(name)")
            if old == text.trimmingCharacters(in: .whitespacesAndNewlines) { return name }
        }
        // It is there with another text: making it fails, with a sentence that names it.
        add(secret: longer, text)
        return longer
    }

    /// The text that a file will have; the template where there is no file.
    ///
    /// - Throws: `ToolFailure` for a file that is not there, or cannot be read.
    mutating func text(_ kind: Kind, template: String? = nil) throws(ToolFailure) -> String {
        let path = path(of: kind)
        if let file = files.first(where: { $0.path == path }) { return file.new }
        let old = FileManager.default.fileExists(atPath: path) ? try Self.contents(path) : nil
        guard let text = old ?? template else {
            throw ToolFailure("\(path) is not there; `countersign init` makes it")
        }
        files.append(File(kind: kind, path: path, old: old, new: text))
        return text
    }

    /// The YAML file of that text, to add to; ``set(_:_:)`` takes it back.
    mutating func settings(_ kind: Kind, template: String? = nil) throws(ToolFailure) -> SettingsText {
        try SettingsText(try text(kind, template: template), path: path(of: kind))
    }

    /// Gives a file that was asked for another text.
    mutating func set(_ kind: Kind, _ text: String) {
        let path = path(of: kind)
        guard let index = files.firstIndex(where: { $0.path == path }) else { return }
        files[index].new = text
    }

    /// Writes everything, or nothing.
    ///
    /// - Throws: `ToolFailure`; then the files are as they were.
    func apply() throws(ToolFailure) {
        for folder in Set([places.secrets] + files.map { Self.folder(of: $0.path) }).sorted() {
            try SettingsDisk.makeFolder(folder, mode: Limit.folderMode)
        }
        let lock = try SettingsDisk.Lock(Self.folder(of: places.apps))
        defer { lock.release() }
        var made: [String] = []
        var copies: [(of: String, path: String)] = []
        do throws(ToolFailure) {
            for (name, text) in secrets {
                let path = "\(places.secrets)/\(name)"
                try SettingsDisk.create(path, text, mode: Limit.secretMode)
                made.append(path)
            }
            for file in files where file.old != file.new {
                let old = FileManager.default.fileExists(atPath: file.path) ? try Self.contents(file.path) : nil
                guard old == file.old else { throw ToolFailure("\(file.path) was changed meanwhile; run this again") }
                let copy = try SettingsDisk.createBeside(file.path, file.new, mode: Limit.settingsMode)
                made.append(copy)
                try check(file, at: copy)
                copies.append((file.path, copy))
            }
        } catch {
            for path in made { try? FileManager.default.removeItem(atPath: path) }
            throw error
        }
        // From here on secrets stay: a file that names them may be in place.
        for copy in copies { try SettingsDisk.rename(copy.path, to: copy.of) }
    }

    /// Has the services' own reader read a copy.
    private func check(_ file: File, at copy: String) throws(ToolFailure) {
        do {
            switch file.kind {
            case .apps: try Self.check(try AppsFile.load(path: copy, environment: places.environment))
            case .webhooks: try Self.check(try WebhooksFile.load(path: copy, environment: places.environment))
            case .catalogue: _ = try CatalogueFile.load(path: copy)
            case .variables: break
            }
        } catch let error as SettingsFileError {
            throw ToolFailure("nothing was changed, since it would be a mistake: \(error.at(path: file.path))")
        } catch {
            throw ToolFailure("nothing was changed, since it would be a mistake: \(error)")
        }
    }

    private static func check(_ apps: AppsFile) throws {
        for app in apps.apps.values {
            for key in [app.serverAPI, app.subscriptionOffers?.key].compactMap(\.self) {
                do {
                    _ = try SigningKey(issuerId: key.issuerId, keyId: key.keyId, pem: key.privateKey.value)
                } catch {
                    throw ToolFailure("the private key of \(app.bundleId) is not the .p8 file of App Store Connect")
                }
            }
        }
    }

    private static func check(_ webhooks: WebhooksFile) throws {
        for endpoint in webhooks.endpoints {
            for secret in endpoint.secrets {
                do { _ = try WebhookSecret(secret.value) } catch {
                    throw ToolFailure("a secret of \(endpoint.id) cannot be used: \(error)")
                }
            }
        }
    }

    private func path(of kind: Kind) -> String {
        switch kind {
        case .apps: places.apps
        case .catalogue: places.catalogue
        case .webhooks: places.webhooks
        case .variables: places.variables
        }
    }

    private static func folder(of path: String) -> String {
        (path as NSString).deletingLastPathComponent
    }

    private static func contents(_ path: String) throws(ToolFailure) -> String {
        guard let data = FileManager.default.contents(atPath: path),
            let text = String(validating: data, as: UTF8.self)
        else { throw ToolFailure("\(path) cannot be read as UTF-8 text") }
        return text
    }
}
