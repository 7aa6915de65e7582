import Foundation

/// What a person is to do after a change.
enum SetUpAdvice {
    /// A line for the person, beside the command's answer.
    static func note(_ text: String) {
        FileHandle.standardError.write(Data("\(text)\n".utf8))
    }

    /// The secrets that were written, and what systemd must be told of them.
    static func tell(_ change: SettingsChange, in places: SettingsPlaces) {
        for name in change.secretNames.sorted() { print("new secret: \(places.secrets)/\(name)") }
        tellOfDropIns(change, in: places)
    }

    /// What systemd must be told of new secrets.
    static func tellOfDropIns(_ change: SettingsChange, in places: SettingsPlaces) {
        guard places.namesCredentials else { return }
        for line in dropIns(for: change.secretNames, secrets: places.secrets) { print(line) }
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
        InitPlan.postgresName,
    ]

    private static func unit(of name: String) -> String? {
        if name.hasPrefix("app-store-key") || name.hasPrefix(NewApp.sharedSecretName) {
            return "'countersign-verification-worker@.service'"
        }
        return name.hasPrefix(NewEndpoint.secretName) ? "countersign-notification" : nil
    }
}
