/// What kind of product was sold; a value unknown today is kept as it came.
///
/// Source of Apple's names: developer.apple.com/documentation/appstoreserverapi/type.
package struct ProductType: RawRepresentable, Codable, Sendable, Hashable {
    /// Our name of the type, in snake case; Apple's own name where we know none.
    package let rawValue: String

    /// Keeps the name as it is.
    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// Used up: coins, gems; may be bought any number of times.
    package static let consumable = ProductType(rawValue: "consumable")
    /// Owned for ever, restored on other devices.
    package static let nonConsumable = ProductType(rawValue: "non_consumable")
    /// A subscription that Apple renews.
    package static let autoRenewable = ProductType(rawValue: "auto_renewable")
    /// A subscription whose end the studio keeps.
    package static let nonRenewing = ProductType(rawValue: "non_renewing")

    /// Apple's data does not say, as in old receipts; the catalogue's word counts then.
    package static let unstated = ProductType(rawValue: "unstated")

    /// Whether this version knows what it is, or that Apple's data does not say.
    package var isKnown: Bool { self == .unstated || Self.known.contains(self) }

    /// The types a catalogue may name.
    package static let known: [ProductType] = [.consumable, .nonConsumable, .autoRenewable, .nonRenewing]

    /// Reads what was stored; what was kept under Apple's name by a version that did not know it is known by now.
    package init(from decoder: any Decoder) throws {
        self.init(appleName: try decoder.singleValueContainer().decode(String.self))
    }

    /// Writes the name.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }

    /// The type that Apple's signed data calls by this name.
    package init(appleName: String) {
        switch appleName {
        case "Consumable": self = .consumable
        case "Non-Consumable": self = .nonConsumable
        case "Auto-Renewable Subscription": self = .autoRenewable
        case "Non-Renewing Subscription": self = .nonRenewing
        default: self = ProductType(rawValue: appleName)
        }
    }
}
