/// Apple's enumerated fields that decide money or access: what is known of each, and what a word does that is not known.
///
/// An unknown word is never read as the usual one. Source of the words: apple-facts C8, C18 and C19; the names of what iOS 27 brings
/// are StoreKit's, and the server's may differ: those are then unknown words, which do the same.
package enum Vocabulary {
    /// What a word does that is not among those that are usual.
    package enum Effect: String, Sendable, Hashable {
        /// The order is held as `vocabulary_unknown`.
        case holds
        /// Apple took the purchase back, whatever the word is: it revokes as a refund does.
        case revokes
        /// It is noted; nothing that is paid for is held for it.
        case noted
    }

    /// A field of Apple's.
    package struct Field: Sendable, Hashable {
        /// Apple's name of it.
        package let name: String
        /// The words that are read as what they say.
        package let known: [String]
        /// Words that are known by name: what they bring a policy of the product says, and without one they do the same as a word that
        /// is not known.
        package let undecided: [String]
        package let effect: Effect

        fileprivate init(_ name: String, _ known: [String], undecided: [String] = [], _ effect: Effect) {
            self.name = name
            self.known = known
            self.undecided = undecided
            self.effect = effect
        }
    }

    /// A word that is not among the usual ones, and the field that it stands in.
    package struct Value: Sendable, Hashable, Comparable {
        package let field: String
        /// As Apple wrote it; cut, and without what cannot be printed.
        package let text: String
        /// Whether this version knows it by name.
        package let isNamed: Bool
        package let effect: Effect

        package static func < (left: Value, right: Value) -> Bool {
            (left.field, left.text) < (right.field, right.text)
        }
    }

    /// Characters of a word that are kept.
    static let charactersMaximum = 64

    static let type = Field(
        "type", ["Consumable", "Non-Consumable", "Auto-Renewable Subscription", "Non-Renewing Subscription"],
        undecided: ["Subscription Bundle", "Subscription Suite"], .holds)
    static let ownership = Field(
        "inAppOwnershipType", [Ownership.purchased, Ownership.familyShared], undecided: [Ownership.assigned], .holds)
    static let bundle = Field("bundle", [], undecided: bundleFields, .holds)
    static let revocationType = Field(
        "revocationType", ["REFUND_FULL", "REFUND_PRORATED", "FAMILY_REVOKE"] + Revocation.seats, .revokes)
    static let revocationReason = Field("revocationReason", ["0", "1"], .revokes)
    static let offerType = Field("offerType", ["1", "2", "3", "4", "5"], .noted)
    static let offerDiscountType = Field(
        "offerDiscountType", ["FREE_TRIAL", "PAY_AS_YOU_GO", "PAY_UP_FRONT", "ONE_TIME"], .noted)
    static let transactionReason = Field("transactionReason", ["PURCHASE", "RENEWAL"], .noted)
    static let expirationIntent = Field("expirationIntent", ["1", "2", "3", "4", "5"], .noted)
    static let priceIncreaseStatus = Field("priceIncreaseStatus", ["0", "1"], .noted)
    static let autoRenewStatus = Field("autoRenewStatus", ["0", "1"], .noted)
    static let status = Field("status", ["1", "2", "3", "4", "5"], .noted)
    static let billingPlanType = Field("billingPlanType", ["MONTHLY", "BILLED_UPFRONT"], .noted)
    // Apple names the field, and none of its words.
    static let storeType = Field("storeType", [], .noted)

    /// Every field; the table in `deploy/site/pages/unknown-values.md` is this one.
    package static let fields = [
        type, ownership, bundle, revocationType, revocationReason, offerType, offerDiscountType, transactionReason,
        expirationIntent, priceIncreaseStatus, autoRenewStatus, status, billingPlanType, storeType,
    ]

    /// Apple's fields that say that a transaction is part of a bundle, as its signed data and StoreKit spell them.
    private static let bundleFields = [
        "bundleTransactionId", "bundleTransactionID", "bundleOriginalTransactionId", "bundleOriginalTransactionID",
        "bundleProductId", "bundleProductID", "bundleSubscriptionGroupId", "bundleSubscriptionGroupID",
        "bundleSubscriptionGroupIdentifier",
    ]

    /// Words of ownership.
    package enum Ownership {
        /// Whoever has it paid for it.
        package static let purchased = "PURCHASED"
        /// It is a family member's copy.
        package static let familyShared = "FAMILY_SHARED"
        /// A seat that an organisation bought and assigned (volume purchase).
        static let assigned = "ASSIGNED"
    }

    /// Words of revocations that give no money back.
    enum Revocation {
        /// A seat was taken back; Apple has not said which of the two it writes.
        static let seats = ["ASSIGNMENT_REVOKE", "ASSIGNMENT_REVOKED"]
    }

    // MARK: - What stands in statements

    /// The words of a transaction that are not among the usual ones, sorted.
    package static func unusual(in transaction: Transaction) -> [Value] {
        (unusual(type: transaction.productType, ownership: transaction.ownership)
            + [
                value(bundle, transaction.bundleField),
                value(revocationType, transaction.revocationType),
                value(revocationReason, transaction.revocationReason.map(String.init)),
                value(offerType, transaction.offerType.map(String.init)),
                value(offerDiscountType, transaction.offerDiscountType),
                value(transactionReason, transaction.transactionReason),
                value(billingPlanType, transaction.commitment?.billingPlan),
            ].compactMap(\.self)).sorted()
    }

    /// Those of its type and ownership.
    package static func unusual(type: ProductType, ownership: String?) -> [Value] {
        [type.isKnown ? nil : value(Self.type, type.rawValue), value(Self.ownership, ownership)].compactMap(\.self)
    }

    /// The words of a renewal that are not among the usual ones, sorted.
    package static func unusual(in renewal: RenewalStatement) -> [Value] {
        [
            value(expirationIntent, renewal.expirationIntent.map(String.init)),
            value(priceIncreaseStatus, renewal.priceIncreaseStatus.map(String.init)),
            value(offerType, renewal.offerType.map(String.init)),
            value(autoRenewStatus, renewal.unknownRenewStatus.map(String.init)),
            value(billingPlanType, renewal.renewalBillingPlan),
            value(billingPlanType, renewal.commitment?.billingPlan),
        ].compactMap(\.self).sorted()
    }

    /// Those of a notification besides what it is about.
    package static func unusual(status: Int64?, storeType: String?) -> [Value] {
        [value(self.status, status.map(String.init)), value(self.storeType, storeType)].compactMap(\.self)
    }

    /// The first word for which a transaction is held; nil where there is none, or the product's policies decide about it.
    package static func holding(_ transaction: Transaction, by product: Catalogue.Product?) -> Value? {
        unusual(in: transaction).first { value in
            guard value.effect == .holds else { return false }
            return switch value.field {
            case ownership.name where value.isNamed: (product?.assigned ?? .hold) == .hold
            case bundle.name: (product?.bundled ?? .hold) == .hold
            default: true
            }
        }
    }

    private static func value(_ field: Field, _ text: String?) -> Value? {
        guard let text, !field.known.contains(text) else { return nil }
        let printable = text.unicodeScalars.filter { $0.isASCII && $0.value > 0x1F && $0.value < 0x7F }
        return Value(
            field: field.name, text: String(String.UnicodeScalarView(printable.prefix(Self.charactersMaximum))),
            isNamed: field.undecided.contains(text), effect: field.effect)
    }
}

extension Transaction {
    /// Whether it is a seat of a volume purchase, which an organisation bought and assigned.
    package var isAssigned: Bool { ownership == Vocabulary.Ownership.assigned }

    /// Whether somebody else paid for it: a family member, or an organisation.
    package var isPaidByAnother: Bool { isFamilyCopy || isAssigned }
}
