import Foundation
import Yams

/// Reads a settings file in YAML; what is wrong with it comes back as one sentence.
enum SettingsFile {
    /// The most a settings file may hold: far above any real catalogue.
    static let bytesMaximum = 4 << 20

    static func load<Value: Decodable>(_ type: Value.Type, path: String) throws -> Value {
        let data = try contents(path)
        do {
            return try YAMLDecoder().decode(type, from: data)
        } catch let error as SettingsFileError {
            throw error
        } catch let error as DecodingError {
            throw SettingsFileError(path: path, problem: sentence(error))
        } catch let error as YamlError {
            throw SettingsFileError(path: path, problem: "it is not YAML: \(error)")
        }
    }

    /// The whole text of a settings file.
    static func text(path: String) throws(SettingsFileError) -> String {
        guard let text = String(validating: try contents(path), as: UTF8.self) else {
            throw SettingsFileError(path: path, problem: "it is not UTF-8 text")
        }
        return text
    }

    private static func contents(_ path: String) throws(SettingsFileError) -> Data {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw SettingsFileError(path: path, problem: "it cannot be read")
        }
        guard data.count <= bytesMaximum else {
            throw SettingsFileError(path: path, problem: "it is larger than \(bytesMaximum) bytes")
        }
        return data
    }

    /// The variable by which systemd names the folder of what `LoadCredential=` loads (systemd.exec(5)).
    static let credentialsVariable = "CREDENTIALS_DIRECTORY"

    /// The text of a file that a setting names, without white space around it.
    ///
    /// A relative path is a credential's name where systemd has loaded any; one file then suits all units.
    static func secret(
        at path: String, namedIn settings: String,
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws -> String {
        let folder = environment[credentialsVariable] ?? ""
        let place = path.hasPrefix("/") || folder.isEmpty ? path : "\(folder)/\(path)"
        guard let data = FileManager.default.contents(atPath: place) else {
            throw SettingsFileError(path: settings, problem: "the file \(place) that it names cannot be read")
        }
        return String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private static func sentence(_ error: DecodingError) -> String {
        switch error {
        case .keyNotFound(let key, let context):
            return "\(place(context)) lacks `\(key.stringValue)`"
        case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
            return "\(place(context)): \(context.debugDescription)"
        @unknown default:
            return "it does not have the expected shape"
        }
    }

    private static func place(_ context: DecodingError.Context) -> String {
        let path = context.codingPath.map { $0.intValue.map { "[\($0)]" } ?? $0.stringValue }.joined(separator: ".")
        return path.isEmpty ? "the document" : "`\(path)`"
    }
}

/// A settings file cannot be used, and why.
package struct SettingsFileError: Error, CustomStringConvertible, Sendable {
    /// The file.
    package let path: String
    /// What is wrong with it.
    package let problem: String

    /// Makes an error.
    package init(path: String, problem: String) {
        self.path = path
        self.problem = problem
    }

    /// One sentence that names the file and the fault.
    package var description: String { "\(path): \(problem)" }
}
