import ServiceRuntime

/// An API key that is to be taken out of the apps file, by the first digits of its SHA-256.
struct ServerKeyRemoval {
    /// The fewest digits that are taken, as `key list` prints them: fewer could be another key's by mistake.
    static let digitsMinimum = 8

    /// In lower case.
    let digits: String

    /// - Throws: `ToolFailure` for what is not the beginning of a hash.
    init(_ text: String) throws(ToolFailure) {
        digits = text.lowercased()
        let isHash = digits.utf8.allSatisfy { "0123456789abcdef".utf8.contains($0) }
        guard isHash, (Self.digitsMinimum...64).contains(digits.utf8.count) else {
            throw ToolFailure(
                "\(text) is not the beginning of a SHA-256: at least \(Self.digitsMinimum) hexadecimal digits, as "
                    + "`countersign key list` prints them")
        }
    }

    /// The key that is meant.
    ///
    /// - Throws: `ToolFailure` where it is none, or several.
    func key(in apps: AppsFile, path: String) throws(ToolFailure) -> ServerKey {
        let keys = Set(apps.apps.values.flatMap(\.authentication.serverKeys)).filter { $0.sha256.hasPrefix(digits) }
        let hashes = Set(keys.map(\.sha256))
        guard let key = keys.first, hashes.count == 1 else {
            let problem = hashes.isEmpty ? "no key of \(path) begins" : "several keys of \(path) begin"
            throw ToolFailure("\(problem) with \(digits); `countersign key list` has them all")
        }
        return key
    }

    /// Takes every entry of a key out: beside the apps, and of each app that has an `authentication` of its own.
    ///
    /// - Throws: `ToolFailure`; then nothing has changed.
    func remove(_ key: ServerKey, from change: inout SettingsChange) throws(ToolFailure) {
        var apps = try change.settings(.apps)
        var places: [[SettingsText.Step]] = [[.field("authentication")]]
        for number in apps.bundleIds.indices {
            places.append([.field("apps"), .entry(number), .field("authentication")])
        }
        for place in places {
            for (field, hashes) in [
                ("api_keys", apps.texts("sha256", ofListAt: place + [.field("api_keys")])),
                ("api_keys_sha256", apps.texts(ofListAt: place + [.field("api_keys_sha256")])),
            ] {
                // From the last one, so that the numbers of those before stay.
                for number in hashes.indices.reversed() where hashes[number]?.lowercased() == key.sha256 {
                    try apps.remove(number, fromListAt: place + [.field(field)])
                }
            }
        }
        change.set(.apps, apps.text)
    }
}
