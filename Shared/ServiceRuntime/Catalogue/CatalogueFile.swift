package import PurchaseModel

/// What the studio sells, from a YAML file.
///
/// ```yaml
/// apps:
///   com.example.game:
///     - { id: gems.100, type: consumable, grants: { gem: 100 }, prices: { USD: 990, JPY: 160000 } }
///     - { id: pro, type: non_consumable, entitlements: [pro], restore: share }
///     - { id: season, type: non_renewing, duration: P90D, entitlements: [season] }
///     - id: monthly
///       type: auto_renewable
///       grants: { gem: 50, badge: 1 }
///       entitlements: [vip]
///       restore: { policy: transfer_if_inactive, transfers: 2, per: P30D }
///       take_back: { gem: to_negative, badge: leave }
/// ```
///
/// `prices` are milliunits of a currency; an order that cost something else is flagged, and granted all the same. A field
/// that is not known is a mistake: a misspelt one would be a grant that never comes.
///
/// `restore` says what happens when another account posts what is somebody's: `keep` (the default), `transfer`,
/// `transfer_if_inactive` or `share`, alone or with its limits: `transfers` of a lineage `per` a period (3 in `P30D` where
/// it is not said), or `accounts` that share it (6, the owner among them). A limit that its policy does not know is a
/// mistake; so is a consumable with it.
///
/// `take_back` says what becomes of the items when Apple takes the purchase back: `to_zero` (the default: as much as is
/// there), `to_negative` (all of it, as a debt) or `leave`, for all items or for those that a mapping names.
///
/// `family` says what a family member's copy (Family Sharing) brings: `entitlements` (the default: no items, since one
/// purchase was paid for), `all` or `nothing`. `new_purchase` says who gets a period that another account paid for after
/// the subscription had lapsed: its `payer` (the default: whoever posts Apple's proof of it), or the `owner` from before.
///
/// `assigned` says what the seat of a volume purchase brings, which an organisation bought and assigned, and `bundled` what the product
/// brings as a part of a bundle (iOS 27): `hold` (the default: the order is held until this says otherwise), `entitlements`, `all` or
/// `nothing`.
///
/// `refund` says what Apple is told when a customer asks for a refund, such as
/// `{ preference: grant_prorated, when_consumed: decline, sample_content: true }`: `preference` is `decline`, `grant_full` or
/// `grant_prorated` (without it none is told), `when_consumed` takes its place once a part is known to be used,
/// `sample_content` whether customers can try the product before (default: `false`).
package enum CatalogueFile {
    /// A catalogue, and the text that it was read from.
    package struct Loaded: Sendable {
        /// What is sold.
        package var catalogue: Catalogue
        /// The file's text: what is kept as a version.
        package let text: String

        /// Says what a text means.
        package init(catalogue: Catalogue, text: String) {
            self.catalogue = catalogue
            self.text = text
        }
    }

    /// Reads the file.
    ///
    /// - Throws: `SettingsFileError` that names every mistake with its line, up to a bound.
    package static func load(path: String) throws(SettingsFileError) -> Loaded {
        try read(try text(path: path), path: path)
    }

    /// The file's text.
    ///
    /// - Throws: `SettingsFileError` when it cannot be read, or is no text.
    package static func text(path: String) throws(SettingsFileError) -> String {
        try SettingsFile.text(path: path)
    }

    /// What a text says.
    ///
    /// - Parameter path: where it was read, for mistakes.
    /// - Throws: `SettingsFileError` that names every mistake with its line, up to a bound.
    package static func read(_ text: String, path: String) throws(SettingsFileError) -> Loaded {
        do {
            return Loaded(catalogue: try CatalogueDocument(text).catalogue(), text: text)
        } catch {
            throw SettingsFileError(path: path, problem: error.description)
        }
    }
}
