package import Foundation

/// What happens when another account posts what is somebody's: a non-consumable, or a subscription.
package enum RestorePolicy: String, Codable, Sendable, Hashable, CaseIterable {
    /// It stays where it is.
    case keep
    /// It goes to the account that posts it; the one before has it no more.
    case transfer
    /// The same, but only while the one before can use nothing of it: an ended subscription.
    case transferIfInactive = "transfer_if_inactive"
    /// Both may use it.
    case share
}

/// Who gets a period that another account than the owner paid for, without a token, after the subscription had lapsed.
package enum NewPurchasePolicy: String, Codable, Sendable, Hashable, CaseIterable {
    /// Whoever shows Apple's proof of it; the subscription goes along.
    case payer
    /// The account that had the subscription before.
    case owner
}

/// What a family member's copy (Family Sharing) of a purchase brings.
package enum FamilyPolicy: String, Codable, Sendable, Hashable, CaseIterable {
    /// What may be used, and no items: one purchase was paid for.
    case entitlements
    /// The same as the purchase.
    case all
    case nothing

    /// Whether a transaction brings its product's items.
    package func givesItems(to transaction: Transaction) -> Bool { self == .all || !transaction.isFamilyCopy }

    /// Whether a transaction brings its product's entitlements.
    package func givesEntitlements(to transaction: Transaction) -> Bool {
        self != .nothing || !transaction.isFamilyCopy
    }
}

/// What a transaction brings that Apple marks in a way of which only the studio can say what it means: the seat of a volume
/// purchase, a part of a bundle.
package enum MarkedPolicy: String, Codable, Sendable, Hashable, CaseIterable {
    /// Nothing until somebody says what: the order is held.
    case hold
    /// What may be used, and no items.
    case entitlements
    /// The same as a purchase.
    case all
    case nothing
}

extension Catalogue.Product {
    /// Whether a transaction brings the product's items: a purchase, and what its policies say brings them, too.
    package func givesItems(to transaction: Transaction) -> Bool {
        family.givesItems(to: transaction) && policies(of: transaction).allSatisfy { $0 == .all }
    }

    /// Whether a transaction brings the product's entitlements; what was granted keeps them while it would be held.
    package func givesEntitlements(to transaction: Transaction) -> Bool {
        family.givesEntitlements(to: transaction) && policies(of: transaction).allSatisfy { $0 != .nothing }
    }

    private func policies(of transaction: Transaction) -> [MarkedPolicy] {
        (transaction.isAssigned ? [assigned] : []) + (transaction.bundleField == nil ? [] : [bundled])
    }
}

/// A restore policy and its limits.
package struct RestoreRule: Sendable, Hashable {
    /// What happens.
    package let policy: RestorePolicy
    /// How often one lineage may change hands within ``period``.
    package let transfersMaximum: Int
    /// The span that ``transfersMaximum`` counts in.
    package let period: ProductDuration
    /// How many accounts may share a lineage, the owner among them.
    package let accountsMaximum: Int
    /// Who gets what is paid anew after the subscription had lapsed.
    package let newPurchase: NewPurchasePolicy

    /// Makes a rule.
    package init(
        policy: RestorePolicy, transfersMaximum: Int = Default.transfers, period: ProductDuration = Default.period,
        accountsMaximum: Int = Default.accounts, newPurchase: NewPurchasePolicy = .payer
    ) {
        self.policy = policy
        self.transfersMaximum = transfersMaximum
        self.period = period
        self.accountsMaximum = accountsMaximum
        self.newPurchase = newPurchase
    }

    /// The same rule with another policy for what is paid anew.
    package func leaving(_ newPurchase: NewPurchasePolicy) -> RestoreRule {
        RestoreRule(
            policy: policy, transfersMaximum: transfersMaximum, period: period, accountsMaximum: accountsMaximum,
            newPurchase: newPurchase)
    }

    /// What holds where a catalogue does not say it.
    package enum Default {
        /// Transfers of a lineage in a period.
        package static let transfers = 3
        /// Thirty days.
        package static let period = ProductDuration(count: 30, unit: .day)
        /// Accounts that share: a family of six, as Apple counts them.
        package static let accounts = 6
    }

    /// The rule of a product that names none.
    package static let keep = RestoreRule(policy: .keep)
}

/// What becomes of an item of an account when Apple takes back the purchase that brought it.
package enum TakeBackPolicy: String, Codable, Sendable, Hashable, CaseIterable {
    /// As much is taken as there is, and no more.
    case toZero = "to_zero"
    /// All of it is taken; what is missing is a debt that later grants repay.
    case toNegative = "to_negative"
    /// Nothing is taken.
    case leave
}

/// How long something is good: a calendar duration of days, weeks, months or years, such as `P30D`, `P1W`, `P3M`, `P1Y`.
///
/// Source: ISO 8601, as Apple's own `offerPeriod` writes it.
package struct ProductDuration: Sendable, Hashable, CustomStringConvertible {
    /// What is counted.
    package enum Unit: Character, Sendable, Hashable, CaseIterable {
        case day = "D"
        case week = "W"
        case month = "M"
        case year = "Y"
    }

    /// Above any real duration, and far below where dates end.
    static let countRange = 1...1_000

    /// How many units, 1 to 1,000.
    package let count: Int
    /// What is counted.
    package let unit: Unit

    /// A duration of a number within the limit, which is the caller's to keep.
    init(count: Int, unit: Unit) {
        self.count = count
        self.unit = unit
    }

    /// Reads one unit with its number; nil for anything else.
    package init?(_ text: String) {
        guard text.first == "P", let last = text.last, let unit = Unit(rawValue: last) else { return nil }
        let digits = text.dropFirst().dropLast()
        guard !digits.isEmpty, digits.utf8.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains),
            let count = Int(digits), Self.countRange.contains(count)
        else { return nil }
        self.count = count
        self.unit = unit
    }

    /// As it is written.
    package var description: String { "P\(count)\(unit.rawValue)" }

    /// The instant that lies so much later, by the Gregorian calendar in UTC; a month's end stays in its month.
    package func end(after start: Date) -> Date {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let component: Calendar.Component =
            switch unit {
            case .day: .day
            case .week: .weekOfYear
            case .month: .month
            case .year: .year
            }
        return calendar.date(byAdding: component, value: count, to: start) ?? start
    }
}
