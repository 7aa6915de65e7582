import Foundation
import Yams

/// Reads a settings file in YAML; what is wrong with it comes back as one sentence.
package enum SettingsFile {
    /// The most a settings file may hold: far above any real catalogue.
    static let bytesMaximum = 4 << 20

    /// What a file says, and where each part of it stands.
    package struct Loaded<Value> {
        /// What it says.
        package let value: Value
        /// Where.
        package let lines: SettingsLines
    }

    /// Reads a file.
    ///
    /// - Throws: `SettingsFileError` with the line, where the mistake has one.
    package static func load<Value: Decodable>(
        _ type: Value.Type, path: String
    ) throws(SettingsFileError) -> Loaded<Value> {
        let text = try text(path: path)
        do {
            let lines = try SettingsLines(text)
            do {
                return Loaded(value: try YAMLDecoder().decode(type, from: text), lines: lines)
            } catch let error as DecodingError {
                throw SettingsFileError(path: path, problem: sentence(error), line: lines.line(of: error))
            }
        } catch let error as SettingsFileError {
            throw error
        } catch {
            let flaw = YAMLFlaw(error)
            throw SettingsFileError(path: path, problem: flaw.problem, line: flaw.line)
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
    ) throws(SettingsFileError) -> String {
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
    ///
    /// - Parameter line: where in the file, counted from 1; it is told before the problem.
    package init(path: String, problem: String, line: Int? = nil) {
        self.path = path
        self.problem = (line.map { "line \($0): " } ?? "") + problem
    }

    /// The same mistake in a file of another name: the tool checks a copy before it takes the file's place.
    package func at(path: String) -> SettingsFileError {
        SettingsFileError(path: path, problem: problem)
    }

    /// One sentence that names the file and the fault.
    package var description: String { "\(path): \(problem)" }
}
