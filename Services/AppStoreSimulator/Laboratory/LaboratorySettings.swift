import Foundation

/// What the laboratory's commands read from the environment, where no option says it.
///
/// | variable | used by |
/// |---|---|
/// | `COUNTERSIGN_SIMULATOR_URL` | load, trigger, listen, story |
/// | `COUNTERSIGN_RECEIPT_INTAKE_URL` | load, listen |
/// | `COUNTERSIGN_API_KEY` or `…_FILE` | load, listen, story |
struct LaboratorySettings: Sendable {
    private let environment: [String: String]

    init(environment: [String: String] = ProcessInfo.processInfo.environment) {
        self.environment = environment
    }

    var simulatorURL: String? { text("COUNTERSIGN_SIMULATOR_URL") }
    var receiptIntakeURL: String? { text("COUNTERSIGN_RECEIPT_INTAKE_URL") }

    /// The server API key that posts are made with.
    ///
    /// - Throws: `ToolFailure` when there is none, or when both variables are set.
    func apiKey() throws -> String {
        switch (text("COUNTERSIGN_API_KEY"), text("COUNTERSIGN_API_KEY_FILE")) {
        case (let key?, nil): return key
        case (nil, let path?): return try Self.secret(in: path)
        case (nil, nil):
            throw ToolFailure("who is posting? Give --api-key-file, --jwt-secret-file or COUNTERSIGN_API_KEY")
        case (_?, _?):
            throw ToolFailure("COUNTERSIGN_API_KEY_FILE must be left out when COUNTERSIGN_API_KEY is set as well")
        }
    }

    /// The content of a file, without white space around it.
    ///
    /// - Throws: `ToolFailure`.
    static func secret(in path: String) throws -> String {
        guard let data = FileManager.default.contents(atPath: path) else { throw ToolFailure("\(path) cannot be read") }
        return String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// An HTTP address that an option or a variable gives, without a slash at its end.
    ///
    /// - Throws: `ToolFailure` when it is none, or missing.
    static func address(
        _ text: String?, of option: String, example: String = "http://127.0.0.1:8080"
    ) throws -> String {
        guard let text, isAddress(text) else { throw ToolFailure("\(option) must be an address such as \(example)") }
        return text.hasSuffix("/") ? String(text.dropLast()) : text
    }

    static func isAddress(_ text: String) -> Bool {
        URL(string: text).map { ["http", "https"].contains($0.scheme) && $0.host != nil } ?? false
    }

    /// An empty variable counts as not set, because container tools pass unset variables on as empty ones.
    private func text(_ variable: String) -> String? {
        environment[variable].flatMap { $0.isEmpty ? nil : $0 }
    }
}
