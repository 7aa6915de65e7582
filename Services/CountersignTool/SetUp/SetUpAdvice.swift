import Foundation

/// What a person is to do after a change.
enum SetUpAdvice {
    /// A line for the person, beside the command's answer.
    static func note(_ text: String) {
        ToolOutput.note(text)
    }

    /// A secret that was there has changed: systemd hands a service what it read as that started.
    static func noteOfSecret(in places: SettingsPlaces) {
        if places.namesCredentials { note("`systemctl restart countersign-notification` has it used") }
    }

    /// The secrets that were written, and what systemd must be told of them.
    static func tell(_ change: SettingsChange, in places: SettingsPlaces) {
        for line in lines(change, in: places) { print(line) }
    }

    /// The secrets that were written, and what systemd must be told of them, a line each.
    static func lines(_ change: SettingsChange, in places: SettingsPlaces) -> [String] {
        change.secretNames.sorted().map { "new secret: \(places.secrets)/\($0)" } + dropIns(change, in: places)
    }

    /// What systemd must be told of new secrets.
    static func dropIns(_ change: SettingsChange, in places: SettingsPlaces) -> [String] {
        places.namesCredentials ? dropIns(for: change.secretNames, secrets: places.secrets) : []
    }

    /// What the package's units do not hand over by themselves.
    static func dropIns(for names: Set<String>, secrets: String) -> [String] {
        names.sorted().compactMap { name in
            guard let unit = unit(of: name), !handedOver.contains(name) else { return nil }
            return "systemd hands it over when `systemctl edit \(unit)` has [Service] and LoadCredential=\(name):"
                + "\(secrets)/\(name)"
        }
    }

    private static let handedOver: Set = [
        AppStoreKey.secretName, NewApp.sharedSecretName, NewEndpoint.secretName, InitPlan.jwtSecretName,
        InitPlan.postgresName, InitPlan.webhooksKeyName, NewOffers.secretName,
    ]

    private static func unit(of name: String) -> String? {
        if name.hasPrefix("app-store-key") || name.hasPrefix(NewApp.sharedSecretName) {
            return "'countersign-verification-worker@.service'"
        }
        if name.hasPrefix("offer-key") { return "countersign-receipt-intake" }
        return name.hasPrefix(NewEndpoint.secretName) ? "countersign-notification" : nil
    }
}
