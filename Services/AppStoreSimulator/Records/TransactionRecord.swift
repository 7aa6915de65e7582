/// One transaction, with what Apple says of it and what only the store knows.
///
/// The dates are milliseconds since 1970. Fields named as in Apple's `JWSTransactionDecodedPayload` mean what they mean
/// there (apple-facts C7).
struct TransactionRecord: Codable, Sendable, Identifiable {
    var id: String { transactionId }
    var transactionId: String
    var originalTransactionId: String
    var webOrderLineItemId: String?
    var bundleId: String
    var productId: String
    var subscriptionGroupIdentifier: String?
    var purchaseDate: Int64
    var originalPurchaseDate: Int64
    var expiresDate: Int64?
    var quantity: Int64
    var type: ProductType
    var appAccountToken: String?
    /// True for a family member's copy: `inAppOwnershipType` FAMILY_SHARED.
    var isFamilyShared = false
    var revocationDate: Int64?
    /// 0 other, 1 an issue with the app.
    var revocationReason: Int64?
    var revocationType: RevocationType?
    /// Milliunits of per cent: 100,000 is all.
    var revocationPercentage: Int64?
    var isUpgraded = false
    var offer: AppliedOffer?
    var environment: StoreEnvironment
    var isRenewal = false
    var storefront: String
    var storefrontId: String
    /// Milliunits; nil for a family member's copy.
    var price: Int64?
    var currency: String?
    var appTransactionId: String?
    var previousOriginalTransactionId: String?
    /// Advanced Commerce information, JSON that is passed on as it is.
    var advancedCommerceInfo: String?
    /// What is signed otherwise than the rest of the record says: a merge patch of the payload, JSON (RFC 7396).
    var signs: String?

    // What only the store knows.

    /// Whose it is.
    var accountId: String
    /// On which device it was bought or restored; nil when it renewed by itself.
    var deviceId: String?
    /// What the buyer's e-mail names, such as `MTMQK8XXQW`.
    var orderId: String
    /// A family member's copy: the buyer's transaction.
    var sharedFromTransactionId: String?
    /// When the sharing of a family member's copy ended for good: it does not come back when a refund is reversed.
    var sharingEndedDate: Int64?
    /// A further transaction of a purchase that was made before: the purchase's first; nil for the first itself.
    var firstTransactionId: String?
    /// What receipts say instead of ``originalPurchaseDate``: in Apple's it may be the time of a restore.
    var receiptOriginalPurchaseDate: Int64?
    var isFinished = false
    /// When anything of it changed last: the order of Get Transaction History.
    var modifiedDate: Int64
    /// Grows with every change; breaks ties of ``modifiedDate`` and is what a `revision` token holds.
    var revision: Int64 = 0

    /// What all transactions of one purchase have in common: the id of the first.
    var purchaseId: String { firstTransactionId ?? transactionId }

    /// Apple's `revocationType`.
    enum RevocationType: String, Codable, Sendable {
        case refundFull = "REFUND_FULL"
        case refundProrated = "REFUND_PRORATED"
        case familyRevoke = "FAMILY_REVOKE"
    }

    /// The offer that a period was bought with.
    struct AppliedOffer: Codable, Sendable {
        var kind: Offer.Kind
        var identifier: String?
        var discount: Offer.Discount
        var period: Period
    }
}

/// A request for a refund, and what became of it.
struct RefundRequestRecord: Codable, Sendable, Identifiable {
    enum Outcome: String, Codable, Sendable {
        case open = "OPEN"
        case granted = "GRANTED"
        case declined = "DECLINED"
        case reversed = "REVERSED"
    }

    /// The transaction's id: a transaction has one request at a time.
    var id: String { transactionId }
    var transactionId: String
    var requestedDate: Int64
    /// Apple's `consumptionRequestReason`.
    var reason: String
    var outcome: Outcome
    /// How many CONSUMPTION_REQUESTs were sent.
    var requestsSent: Int
    /// When the next is due; nil when it was answered, decided or asked often enough.
    var nextRequestDate: Int64?
}

/// What a developer answered to a CONSUMPTION_REQUEST.
struct ConsumptionAnswerRecord: Codable, Sendable, Identifiable {
    /// Counted up.
    var id: String
    var transactionId: String
    var environment: StoreEnvironment
    /// 1 or 2.
    var version: Int
    var receivedDate: Int64
    /// The body as received, JSON.
    var body: String
}
