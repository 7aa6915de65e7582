package import Configuration

/// Where the configuration comes from: the environment first, then an optional YAML file.
package enum ConfigurationSources {
    /// The environment variable that names the YAML file.
    package static let fileVariable = "COUNTERSIGN_CONFIG"

    /// Makes the reader that every process starts with.
    ///
    /// Key `postgres.url` is the variable `COUNTERSIGN_POSTGRES_URL`, or `postgres: {url: …}` in the file. An empty
    /// variable counts as not set, because container tools pass unset variables on as empty ones.
    ///
    /// - Parameter environment: The process's environment.
    /// - Throws: ``SettingError`` when the file is named but cannot be read, is no YAML mapping, or has a key that is no
    ///   setting: a typing error must not leave a default in force.
    package static func reader(environment: [String: String]) async throws(SettingError) -> ConfigReader {
        let variables = EnvironmentVariablesProvider(
            environmentVariables: environment.filter { !$0.value.isEmpty },
            // No access log may ever show a value: which ones are secret is known only where they are read.
            secretsSpecifier: .all
        )
        .prefixKeys(with: ConfigKey([SettingName.prefix]))
        guard let path = environment[fileVariable], !path.isEmpty else { return ConfigReader(provider: variables) }
        let reader: ConfigReader
        do {
            let location = InMemoryProvider(values: ["filePath": ConfigValue(.string(path), isSecret: false)])
            let file = try await FileProvider<YAMLSnapshot>(
                parsingOptions: .init(secretsSpecifier: .all), config: ConfigReader(provider: location))
            reader = ConfigReader(providers: [variables, file])
        } catch {
            // The parser's own message quotes the file, which may hold secrets; the reason is told without it.
            throw SettingError.unreadable("config", path: path, reason: "cannot be read as a YAML mapping")
        }
        if let text = try? SettingsFile.text(path: path), let unknown = KnownSettings.firstUnknown(in: text) {
            let line = unknown.line.map { "line \($0): " } ?? ""
            throw SettingError.unreadable(
                "config", path: path, reason: "has \(line)`\(unknown.key)`, which is no setting")
        }
        return reader
    }
}
