/// What a command of set-up has written, and what a person is to do then.
struct SetUpReport: Encodable, Sendable {
    /// The files that were changed or are new, secrets among them.
    let files: [String]
    /// Files of secrets that are new.
    let newSecrets: [String]
    /// The API key, which is nowhere else; nil where it was written to a file, or none was made.
    var apiKey: String?
    /// The file that the API key was written to.
    var apiKeyFile: String?
    /// What systemd must be told, in sentences.
    let systemd: [String]
    /// What is to be done next, in sentences.
    var next: [String] = []

    init(_ change: SettingsChange, in places: SettingsPlaces) {
        files = change.paths
        newSecrets = change.secretNames.sorted().map { "\(places.secrets)/\($0)" }
        systemd = SetUpAdvice.dropIns(change, in: places)
    }
}
