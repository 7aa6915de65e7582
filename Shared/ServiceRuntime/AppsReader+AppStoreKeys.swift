extension AppsReader {
    /// A key that App Store Connect gave out.
    ///
    /// - Parameter field: what it is called in the file.
    func appStoreKey(
        _ entry: AppsDocument.Key?, _ field: String, of app: String, _ place: Place
    ) throws(SettingsFileError) -> AppsFile.ServerAPIKey? {
        guard let entry else { return nil }
        for (name, id) in [("issuer_id", entry.issuer_id), ("key_id", entry.key_id)] where id.isEmpty {
            throw place.mistake("`\(name)` of \(app)'s `\(field)` is empty", SettingsStep(stringValue: name))
        }
        let secret = SecretPlace(
            name: "private_key", owner: app, file: entry.private_key_file, variable: entry.private_key_env)
        guard let key = try read(secret, place) else {
            throw place.mistake("`\(field)` of \(app) lacks `private_key_file` or `private_key_env`")
        }
        guard key.value.hasPrefix("-----BEGIN "), key.value.hasSuffix("PRIVATE KEY-----") else {
            throw place.mistake(
                "the private key of \(app) is not the whole text of a .p8 file",
                SettingsStep(stringValue: secret.field))
        }
        return AppsFile.ServerAPIKey(issuerId: entry.issuer_id, keyId: entry.key_id, privateKey: key)
    }

    /// What an app's subscription offers are signed with.
    func subscriptionOffers(
        _ entry: AppsDocument.Offers?, of app: String, _ place: Place
    ) throws(SettingsFileError) -> AppsFile.SubscriptionOffers? {
        guard let entry, let key = try appStoreKey(entry.key, "subscription_offers", of: app, place) else { return nil }
        for (number, offer) in (entry.player_offers ?? []).enumerated() where offer.isEmpty {
            throw place.of("player_offers").mistake(
                "an offer of \(app)'s `player_offers` is empty", SettingsStep(intValue: number))
        }
        return AppsFile.SubscriptionOffers(key: key, playerOffers: Set(entry.player_offers ?? []))
    }
}
