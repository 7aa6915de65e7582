package import Configuration

/// Typed reading of settings, with errors an operator can act on.
///
/// Keys are dotted (`postgres.url`); errors name the environment variable (`COUNTERSIGN_POSTGRES_URL`).
package struct SettingReader: Sendable {
    /// The reader underneath.
    package let configuration: ConfigReader

    /// Reads from `configuration`, whose keys carry no prefix.
    package init(_ configuration: ConfigReader) {
        self.configuration = configuration
    }

    /// Reads from a dictionary of dotted keys and texts, as if they stood in the environment: for tests.
    package init(_ values: [String: String]) {
        let pairs = values.map { key, value in
            (AbsoluteConfigKey(ConfigKey(key)), ConfigValue(.string(value), isSecret: false))
        }
        self.init(ConfigReader(provider: InMemoryProvider(values: Dictionary(pairs) { first, _ in first })))
    }

    /// A text, or `nil` when it is not set.
    package func string(_ key: String) throws(SettingError) -> String? {
        try text(key)
    }

    /// A text, or `value` when it is not set.
    package func string(_ key: String, default value: String) throws(SettingError) -> String {
        try text(key) ?? value
    }

    /// A text that must be set.
    ///
    /// - Parameters:
    ///   - key: The dotted key.
    ///   - expected: What the value must be, for the error's sentence.
    package func requiredString(_ key: String, expected: String = "") throws(SettingError) -> String {
        guard let value = try text(key) else { throw .missing(key, expected: expected) }
        return value
    }

    /// A whole number within `range`, or `nil` when it is not set.
    package func int(_ key: String, in range: ClosedRange<Int>) throws(SettingError) -> Int? {
        guard let text = try text(key) else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw .invalid(
                key, expected: "a whole number from \(range.lowerBound) to \(range.upperBound)", found: text)
        }
        return number
    }

    /// A whole number within `range`, or `value` when it is not set.
    package func int(_ key: String, default value: Int, in range: ClosedRange<Int>) throws(SettingError) -> Int {
        try int(key, in: range) ?? value
    }

    /// A yes or no (`true`, `false`, `yes`, `no`, `1`, `0`), or `value` when it is not set.
    package func bool(_ key: String, default value: Bool) throws(SettingError) -> Bool {
        guard let text = try text(key) else { return value }
        switch text.lowercased() {
        case "true", "yes", "1": return true
        case "false", "no", "0": return false
        default: throw .invalid(key, expected: "true or false", found: text)
        }
    }

    /// The longest duration a setting may ask for: a year, which catches milliseconds given for seconds.
    package static let durationMaximum = Duration.seconds(366 * 86_400)

    /// A duration in seconds, decimals allowed (`2.5`), or `value` when it is not set.
    ///
    /// - Parameters:
    ///   - key: The dotted key.
    ///   - value: What holds when it is not set.
    ///   - range: The allowed durations. Default: from 0 to ``durationMaximum``.
    package func duration(
        _ key: String, default value: Duration, in range: ClosedRange<Duration> = .zero...durationMaximum
    ) throws(SettingError) -> Duration {
        guard let text = try text(key) else { return value }
        guard let seconds = Double(text), seconds.isFinite, abs(seconds) < 1e12, range.contains(.seconds(seconds))
        else {
            let limits = "from \(Self.seconds(range.lowerBound)) to \(Self.seconds(range.upperBound))"
            throw .invalid(key, expected: "a number of seconds \(limits)", found: text)
        }
        return .seconds(seconds)
    }

    /// One of the cases of a string enumeration, or `value` when it is not set.
    package func choice<Choice: RawRepresentable & CaseIterable>(
        _ key: String, default value: Choice
    ) throws(SettingError) -> Choice where Choice.RawValue == String {
        guard let text = try text(key) else { return value }
        guard let choice = Choice(rawValue: text.lowercased()) else {
            let names = Choice.allCases.map(\.rawValue).joined(separator: ", ")
            throw .invalid(key, expected: "one of \(names)", found: text)
        }
        return choice
    }

    /// A list: texts separated by commas, or a YAML sequence; blank entries are left out.
    package func stringList(_ key: String, default value: [String] = []) throws(SettingError) -> [String] {
        let entries: [String]
        if let list = configuration.stringArray(forKey: ConfigKey(key)) {
            entries = list
        } else if let text = configuration.string(forKey: ConfigKey(key)) {
            entries = text.split(separator: ",").map(String.init)
        } else {
            return value
        }
        return entries.map(Self.trimmed).filter { !$0.isEmpty }
    }

    /// A list of addresses and networks; none where it is not set.
    package func addressRanges(_ key: String) throws(SettingError) -> [AddressRange] {
        var ranges: [AddressRange] = []
        for text in try stringList(key) {
            guard let range = AddressRange(text) else {
                throw .invalid(
                    key, expected: "addresses or networks such as 10.0.0.0/8, with commas", found: text)
            }
            ranges.append(range)
        }
        return ranges
    }

    /// The text of a scalar, whatever type its provider keeps it in; `nil` when it is not set or blank.
    func text(_ key: String, isSecret: Bool = false) throws(SettingError) -> String? {
        let name = ConfigKey(key)
        let text =
            configuration.string(forKey: name, isSecret: isSecret)
            ?? configuration.int(forKey: name, isSecret: isSecret).map(String.init)
            ?? configuration.double(forKey: name, isSecret: isSecret).map { String($0) }
            ?? configuration.bool(forKey: name, isSecret: isSecret).map { String($0) }
        guard let text else {
            guard configuration.stringArray(forKey: name, isSecret: isSecret) == nil else {
                throw .invalid(key, expected: "a single value", found: isSecret ? nil : "a list")
            }
            return nil
        }
        let value = Self.trimmed(text)
        return value.isEmpty ? nil : value
    }

    private static func trimmed(_ text: String) -> String {
        guard let first = text.firstIndex(where: { !$0.isWhitespace }),
            let last = text.lastIndex(where: { !$0.isWhitespace })
        else { return "" }
        return String(text[first...last])
    }

    private static func seconds(_ duration: Duration) -> String {
        let (whole, rest) = duration.components
        return rest == 0 ? "\(whole)" : "\(Double(whole) + Double(rest) / 1e18)"
    }
}
