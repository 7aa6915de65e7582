package import Persistence
package import ServiceRuntime

/// The settings of webhooks that several processes have, read the same way everywhere.
package enum WebhookSettings {
    /// What seals the secrets of endpoints in the database; nil where none is set, or its file is empty.
    ///
    /// - Throws: `SettingError`, which does not show it.
    package static func seal(_ settings: SettingReader) throws(SettingError) -> SecretSeal? {
        // seals the secrets of endpoints in the database, the same for intake and notification: base64 of 32 random
        // bytes, after it keys of before; or `webhooks.key_file`
        // Default: none: no endpoint can be made, those of the database wait
        guard let text = try settings.secret("webhooks.key", isOptional: true) else { return nil }
        do {
            return try SecretSeal(text.value)
        } catch {
            throw .invalid(
                "webhooks.key",
                expected: "the base64 of 32 random bytes (openssl rand -base64 32); several keys with "
                    + "spaces, of which the first seals", found: nil)
        }
    }

    /// Whether endpoints of the database may be at plain HTTP and in the own network, for development.
    ///
    /// - Throws: `SettingError`.
    package static func allowsPrivateAddresses(_ settings: SettingReader) throws(SettingError) -> Bool {
        // `allowed`: endpoints of the database may be at plain HTTP and in the own network, for development
        try settings.choice("webhooks.private_addresses", default: PrivateAddresses.refused) == .allowed
    }

    private enum PrivateAddresses: String, CaseIterable { case allowed, refused }
}
