import AppStoreServerAPI
import ArgumentParser
import Foundation
import ServiceRuntime

/// What signs an app's subscription offers, as options.
struct OfferKeyOptions: ParsableArguments {
    @Option(help: "The id of the In-App Purchase key that signs subscription offers: a key of its own.")
    var offerKeyId: String?

    @Option(help: "The .p8 file of that key, which is copied to the secrets.")
    var offerPrivateKey: String?

    @Option(help: "The issuer of that key, where it is not the one of --issuer-id.")
    var offerIssuerId: String?

    @Option(help: "The offers that every player may have signed, with commas between; others need a server API key.")
    var playerOffers: OfferList?

    /// The key, read and tried; nil where no option names one.
    ///
    /// - Parameter issuerId: that of the app's other key.
    /// - Throws: `ToolFailure` for a file that is no such key.
    func key(issuerId: String?) throws -> AppStoreKey? {
        guard offerKeyId != nil || offerPrivateKey != nil || offerIssuerId != nil else { return nil }
        guard let offerKeyId, let offerPrivateKey, let issuer = offerIssuerId ?? issuerId else {
            throw ToolFailure(
                "a key of offers needs all three: --offer-key-id, --offer-private-key, and --offer-issuer-id or --issuer-id"
            )
        }
        let text = try SettingsDisk.input(offerPrivateKey)
        do {
            _ = try SigningKey(issuerId: issuer, keyId: offerKeyId, pem: text)
        } catch {
            throw ToolFailure("\(offerPrivateKey) is not the .p8 file of an In-App Purchase key")
        }
        return AppStoreKey(issuerId: issuer, keyId: offerKeyId, text: text)
    }
}

/// Offers on the command line: `comeback,summer`.
struct OfferList: ExpressibleByArgument {
    let offers: [String]

    init?(argument: String) {
        let offers = argument.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        guard offers.allSatisfy({ !$0.isEmpty && $0.allSatisfy { !$0.isWhitespace } }) else { return nil }
        self.offers = offers
    }
}

/// A key of subscription offers, and who may have which signed: `subscription_offers` of the apps file.
struct NewOffers {
    static let secretName = "offer-key.p8"

    var key: AppStoreKey?
    var playerOffers: [String] = []

    /// The field of an app that is new, and its secret; nil where there is neither key nor offer.
    ///
    /// - Throws: `ToolFailure` for offers without a key to sign them.
    func field(of bundleId: String, in change: inout SettingsChange, _ places: SettingsPlaces) throws -> SettingValue? {
        guard let key else {
            guard playerOffers.isEmpty else {
                throw ToolFailure("--player-offers needs the key that signs them: --offer-key-id, --offer-private-key")
            }
            return nil
        }
        let name = change.add(secret: Self.secretName, or: key.keyId, key.text)
        var fields: [(name: String, value: SettingValue)] = [
            ("issuer_id", .text(key.issuerId)), ("key_id", .text(key.keyId)),
            ("private_key_file", .text(places.reference(to: name))),
        ]
        if !playerOffers.isEmpty { fields.append(("player_offers", .list(playerOffers.map { .text($0) }))) }
        return .fields(fields)
    }

    /// Gives an app that is there a key, or lets players have further offers signed by the one that it has.
    ///
    /// - Throws: `ToolFailure`; an app's key is changed by hand, since offers that are signed by the old one are good for
    ///   a day.
    func add(to bundleId: String, _ change: inout SettingsChange, in places: SettingsPlaces) throws {
        var apps = try change.settings(.apps)
        guard let number = apps.bundleIds.firstIndex(of: bundleId) else {
            throw ToolFailure("\(bundleId) is not in \(apps.path); `countersign app add` adds it")
        }
        let app: [SettingsText.Step] = [.field("apps"), .entry(number)]
        let place = app + [.field("subscription_offers")]
        if apps.has(place) {
            guard key == nil else {
                throw ToolFailure("\(bundleId) has a key of offers already: change it in \(apps.path)")
            }
            try addOffers(to: &apps, at: place)
        } else if key == nil, apps.has([.field("subscription_offers")]) {
            throw ToolFailure("the key of offers in \(apps.path) is every app's: add its `player_offers` there")
        } else if let entry = try field(of: bundleId, in: &change, places) {
            try apps.add("subscription_offers", entry, toMappingAt: app)
        }
        change.set(.apps, apps.text)
    }

    private func addOffers(to apps: inout SettingsText, at place: [SettingsText.Step]) throws {
        let list = place + [.field("player_offers")]
        guard apps.has(list) else {
            return try apps.add("player_offers", .list(playerOffers.map { .text($0) }), toMappingAt: place)
        }
        for offer in playerOffers where !apps.texts(ofListAt: list).contains(offer) {
            try apps.add(.text(offer), toListAt: list)
        }
    }
}
