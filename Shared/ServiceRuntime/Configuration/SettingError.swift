/// A configuration mistake, told in one sentence that names the setting, what was expected and what was found.
///
/// The value of a secret never appears in it. A process that throws it while assembling exits with code 64.
package struct SettingError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kind of mistake.
    package struct Code: Sendable, Hashable {
        fileprivate enum Base { case missing, invalid, unreadable }
        fileprivate let base: Base

        /// A required setting has no value.
        package static let missing = Code(base: .missing)
        /// A setting has a value that makes no sense.
        package static let invalid = Code(base: .invalid)
        /// A file that a setting names cannot be read.
        package static let unreadable = Code(base: .unreadable)
    }

    /// The most characters of a wrong value that are repeated in the sentence.
    static let shownLengthMaximum = 80

    /// The kind of mistake.
    package let code: Code
    /// The name of the environment variable, for example `COUNTERSIGN_HTTP_PORT`.
    package let variable: String
    /// One sentence, safe to show.
    package let description: String

    /// A required setting that has no value.
    ///
    /// - Parameters:
    ///   - key: The dotted key, for example `postgres.url`.
    ///   - purpose: What the value must be, for example "a PostgreSQL connection URL"; may be empty.
    package static func missing(_ key: String, expected purpose: String = "") -> SettingError {
        let variable = SettingName.variable(for: key)
        let expected = purpose.isEmpty ? "" : ": it must be \(purpose)"
        return SettingError(
            code: .missing, variable: variable,
            description: "\(variable) (\(key) in the configuration file) is required but not set\(expected).")
    }

    /// A setting whose value makes no sense.
    ///
    /// - Parameters:
    ///   - key: The dotted key.
    ///   - expected: What the value must be, for example "a whole number from 1 to 10".
    ///   - found: The wrong value, or `nil` for a secret, which is then not shown.
    package static func invalid(_ key: String, expected: String, found: String?) -> SettingError {
        let variable = SettingName.variable(for: key)
        let ending = found.map { ", but is \(quoted($0))" } ?? ", but its value is something else"
        return SettingError(
            code: .invalid, variable: variable, description: "\(variable) must be \(expected)\(ending).")
    }

    /// A file, named by a setting, that cannot be read or used.
    ///
    /// - Parameters:
    ///   - key: The dotted key.
    ///   - path: The path as given.
    ///   - reason: Why, as the end of a sentence: "does not exist".
    package static func unreadable(_ key: String, path: String, reason: String) -> SettingError {
        let variable = SettingName.variable(for: key)
        return SettingError(
            code: .unreadable, variable: variable,
            description: "\(variable) must name a readable file, but \(quoted(path)) \(reason).")
    }

    private static func quoted(_ text: String) -> String {
        let shown = text.prefix(shownLengthMaximum)
        let printable = String(shown.map { $0.isNewline || $0.asciiValue.map { $0 < 0x20 } == true ? " " : $0 })
        return "\"\(printable)\(shown.endIndex < text.endIndex ? "…" : "")\""
    }
}

/// How a dotted key is written in the environment.
enum SettingName {
    /// What every environment variable of the suite begins with.
    static let prefix = "countersign"

    /// The environment variable of a dotted key: `postgres.url` is `COUNTERSIGN_POSTGRES_URL`.
    static func variable(for key: String) -> String {
        "\(prefix)_\(key)".uppercased().replacing(".", with: "_")
    }

    /// The key of the file that may hold a secret's value: `postgres.url` is `postgres.url_file`.
    static func fileKey(for key: String) -> String {
        key + "_file"
    }
}
