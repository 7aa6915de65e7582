import Foundation

/// Where a settings file says that a secret is: in a file, or in a variable of the environment.
struct SecretPlace {
    /// What the field is called, without `_file` and `_env`.
    let name: String
    /// Whose secret it is, in messages.
    let owner: String
    /// The file's path.
    let file: String?
    /// The variable's name.
    let variable: String?

    /// The field that names the place; the file's where none does.
    var field: String { "\(name)_\(file == nil && variable != nil ? "env" : "file")" }

    /// The secret, without white space around it; nil when no place is named.
    ///
    /// - Throws: `SettingsFileError` for one that is not there, is empty, or is in two places.
    func read(
        namedIn settings: String, environment: [String: String]
    ) throws(SettingsFileError) -> Redacted<String>? {
        var text: String?
        switch (file, variable) {
        case (nil, nil): return nil
        case (_?, _?):
            throw SettingsFileError(
                path: settings, problem: "\(owner) has `\(name)_file` and `\(name)_env`; keep one of them")
        case (let file?, nil): text = try SettingsFile.secret(at: file, namedIn: settings, environment: environment)
        case (nil, let variable?):
            guard let value = environment[variable] else {
                throw SettingsFileError(
                    path: settings, problem: "the variable \(variable), `\(name)_env` of \(owner), is not set")
            }
            text = value.trimmingCharacters(in: .whitespacesAndNewlines)
        }
        guard let text, !text.isEmpty else {
            throw SettingsFileError(
                path: settings, problem: "`\(name)_\(file == nil ? "env" : "file")` of \(owner) is empty")
        }
        return Redacted(text)
    }
}
