import ServiceRuntime

/// The hash of an API key that is to be written down.
struct NewKey {
    let sha256: String
    /// Who gets it; nil for a key without a name, which may do what keys could before there were scopes.
    var name: String?
    /// What one with a name may be used for.
    var scopes: Set<ServerKey.Scope> = []
    /// The app that it is good for; nil for all that have no `authentication` of their own.
    var app: String?
    /// Whether it sees and changes the sandbox alone.
    var isTest = false

    /// Adds it to the apps file.
    ///
    /// - Throws: `ToolFailure`.
    func add(to change: inout SettingsChange, template: String? = nil) throws {
        var apps = try change.settings(.apps, template: template)
        let place = try self.place(in: apps)
        let field = name == nil ? "api_keys_sha256" : "api_keys"
        let list = place + [.field(field)]
        if apps.has(list) {
            try apps.add(entry, toListAt: list)
        } else if apps.has(place) {
            try apps.add(field, .list([entry]), toMappingAt: place)
        } else {
            try apps.add("authentication", .fields([(field, .list([entry]))]), toMappingAt: place.dropLast())
        }
        change.set(.apps, apps.text)
    }

    private var entry: SettingValue {
        guard let name else { return .text(sha256) }
        let words = ServerKey.Scope.allCases.filter(scopes.contains).map { SettingValue.text($0.rawValue) }
        return .fields(
            [("name", .text(name)), ("sha256", .text(sha256)), ("scopes", .list(words))]
                + (isTest ? [("environment", .text("sandbox"))] : []))
    }

    /// Where the `authentication` is that the key belongs to.
    private func place(in apps: SettingsText) throws -> [SettingsText.Step] {
        guard let app else { return [.field("authentication")] }
        guard let number = apps.bundleIds.firstIndex(of: app) else {
            throw ToolFailure("\(app) is not in \(apps.path); `countersign app add` adds it")
        }
        let place: [SettingsText.Step] = [.field("apps"), .entry(number), .field("authentication")]
        guard apps.has(place) || !apps.has([.field("authentication")]) else {
            throw ToolFailure(
                "\(app) has no `authentication` of its own: with one, the keys that stand beside the apps would not be "
                    + "good for it any more. Leave --app out, or give it an `authentication` by hand")
        }
        return place
    }
}
