extension AppsReader {
    /// The keys of an `authentication`, those without a name first.
    func serverKeys(
        _ access: AppsDocument.Access?, _ place: Place
    ) throws(SettingsFileError) -> [ServerKey] {
        var keys: [ServerKey] = []
        for (number, text) in (access?.api_keys_sha256 ?? []).enumerated() {
            guard let hash = Self.hash(text) else {
                throw place.of("api_keys_sha256").mistake(
                    "an entry of `api_keys_sha256` is not 64 hexadecimal digits", SettingsStep(intValue: number))
            }
            keys.append(ServerKey(unnamed: hash))
        }
        for (number, entry) in (access?.api_keys ?? []).map(\.value).enumerated() {
            let place = place.of("api_keys").of(SettingsStep(intValue: number))
            let key = try serverKey(entry, place)
            guard !keys.contains(where: { $0.sha256 == key.sha256 }) else {
                throw place.mistake("a key of \(entry.name) is listed twice", "sha256")
            }
            guard keys.count(where: { $0.name == key.name }) < ServerKey.sameNameMaximum else {
                throw place.mistake(
                    "\(entry.name) has more than \(ServerKey.sameNameMaximum) keys, the one in use and the one that "
                        + "takes its place; remove one that is not used any more", "name")
            }
            keys.append(key)
        }
        guard keys.count <= ServerKey.keysMaximum else {
            throw place.mistake("there are more than \(ServerKey.keysMaximum) server API keys")
        }
        return keys
    }

    private func serverKey(_ entry: AppsDocument.NamedKey, _ place: Place) throws(SettingsFileError) -> ServerKey {
        let isName =
            ServerKey.nameLength.contains(entry.name.utf8.count)
            && entry.name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "._-".contains($0)) }
        guard isName else {
            throw place.mistake(
                "the `name` of a key has \(ServerKey.nameLength.lowerBound) to "
                    + "\(ServerKey.nameLength.upperBound) letters, digits and . _ -", "name")
        }
        guard let hash = Self.hash(entry.sha256) else {
            throw place.mistake("the `sha256` of a key of \(entry.name) is not 64 hexadecimal digits", "sha256")
        }
        let known = ServerKey.Scope.allCases.map(\.rawValue).joined(separator: ", ")
        guard !entry.scopes.isEmpty else {
            throw place.mistake("a key of \(entry.name) has no `scopes`; there are \(known)", "scopes")
        }
        var scopes: Set<ServerKey.Scope> = []
        for (number, text) in entry.scopes.enumerated() {
            guard let scope = ServerKey.Scope(rawValue: text) else {
                throw place.of("scopes").mistake(
                    "a scope of \(entry.name) is \"\(text)\", not one of \(known)", SettingsStep(intValue: number))
            }
            scopes.insert(scope)
        }
        guard entry.environment == nil || entry.environment == "sandbox" else {
            throw place.mistake(
                "the `environment` of a key of \(entry.name) is sandbox, which makes it a test key, or is left out",
                "environment")
        }
        return ServerKey(name: entry.name, sha256: hash, scopes: scopes, isTest: entry.environment != nil)
    }

    /// The digits in lower case; nil for what is no SHA-256.
    private static func hash(_ text: String) -> String? {
        let digits = text.lowercased()
        let isHash = digits.utf8.count == 64 && digits.utf8.allSatisfy { "0123456789abcdef".utf8.contains($0) }
        return isHash ? digits : nil
    }
}
