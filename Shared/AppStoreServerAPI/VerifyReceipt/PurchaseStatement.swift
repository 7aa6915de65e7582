import Foundation

/// One entry about a transaction; several may speak of the same, and each may leave things out.
///
/// What decides over a grant (ids, product, quantity, dates, cancellation, whose it is) must be readable where it is
/// stated; the rest is nil when it cannot be read.
struct PurchaseStatement: Decodable {
    var transactionId: String?
    /// Whether everything that decides and is stated could be read.
    var isReadable = true
    var isInReceipt = false

    private var originalTransactionId: String?
    private var productId: String?
    private var quantity: Int?
    private var purchaseDate: Date?
    private var originalPurchaseDate: Date?
    private var expiresDate: Date?
    private var cancellation = Stated<Date>.nothing
    private var cancellationReason: String?
    private var isUpgraded: Bool?
    private var appAccountToken: UUID?
    private var webOrderLineItemId: String?
    private var inAppOwnershipType: String?
    private var subscriptionGroupIdentifier: String?
    private var isTrialPeriod: Bool?
    private var isInIntroOfferPeriod: Bool?
    private var promotionalOfferId: String?
    private var offerCodeRefName: String?

    init(from decoder: any Decoder) throws {
        self.init(try AnswerFields(decoder))
    }

    init(_ fields: AnswerFields) {
        transactionId = take(fields.identifier("transaction_id"))
        originalTransactionId = take(fields.identifier("original_transaction_id"))
        productId = take(fields.text("product_id"))
        quantity = take(fields.quantity("quantity"))
        purchaseDate = take(fields.date("purchase_date"))
        expiresDate = take(fields.date("expires_date"))
        cancellation = fields.date("cancellation_date")
        if cancellation.isUnreadable { isReadable = false }
        isUpgraded = take(fields.flag("is_upgraded"))
        appAccountToken = take(fields.uuid("app_account_token"))
        originalPurchaseDate = fields.date("original_purchase_date").known
        cancellationReason = fields.text("cancellation_reason").known
        webOrderLineItemId = fields.text("web_order_line_item_id").known
        inAppOwnershipType = fields.text("in_app_ownership_type").known
        subscriptionGroupIdentifier = fields.text("subscription_group_identifier").known
        isTrialPeriod = fields.flag("is_trial_period").known
        isInIntroOfferPeriod = fields.flag("is_in_intro_offer_period").known
        promotionalOfferId = fields.text("promotional_offer_id").known
        offerCodeRefName = fields.text("offer_code_ref_name").known
    }

    private mutating func take<Value>(_ stated: Stated<Value>) -> Value? {
        if stated.isUnreadable { isReadable = false }
        return stated.known
    }

    /// What is known when a newer statement about the same transaction came: its word, and this one's where it is silent.
    func updated(by newer: PurchaseStatement) -> PurchaseStatement {
        var both = newer
        both.isReadable = isReadable && newer.isReadable
        both.isInReceipt = isInReceipt || newer.isInReceipt
        both.originalTransactionId = newer.originalTransactionId ?? originalTransactionId
        both.productId = newer.productId ?? productId
        both.quantity = newer.quantity ?? quantity
        both.purchaseDate = newer.purchaseDate ?? purchaseDate
        both.originalPurchaseDate = newer.originalPurchaseDate ?? originalPurchaseDate
        both.expiresDate = newer.expiresDate ?? expiresDate
        // A cancellation is not undone by silence; only by the word that there is none.
        switch newer.cancellation {
        case .nothing:
            both.cancellation = cancellation
            both.cancellationReason = newer.cancellationReason ?? cancellationReason
        case .value: both.cancellationReason = newer.cancellationReason ?? cancellationReason
        case .none, .unreadable: break
        }
        both.isUpgraded = newer.isUpgraded ?? isUpgraded
        both.appAccountToken = newer.appAccountToken ?? appAccountToken
        both.webOrderLineItemId = newer.webOrderLineItemId ?? webOrderLineItemId
        both.inAppOwnershipType = newer.inAppOwnershipType ?? inAppOwnershipType
        both.subscriptionGroupIdentifier = newer.subscriptionGroupIdentifier ?? subscriptionGroupIdentifier
        both.isTrialPeriod = newer.isTrialPeriod ?? isTrialPeriod
        both.isInIntroOfferPeriod = newer.isInIntroOfferPeriod ?? isInIntroOfferPeriod
        both.promotionalOfferId = newer.promotionalOfferId ?? promotionalOfferId
        both.offerCodeRefName = newer.offerCodeRefName ?? offerCodeRefName
        return both
    }

    /// The purchase, when enough of it is known.
    var purchase: VerifyReceiptAnswer.Purchase? {
        // Why without when is half a cancellation: it must not pass for none.
        let isHalfCancelled = cancellationReason != nil && cancellation.known == nil
        guard isReadable, !isHalfCancelled, let transactionId, let productId, let purchaseDate else { return nil }
        return VerifyReceiptAnswer.Purchase(
            transactionId: transactionId, originalTransactionId: originalTransactionId, productId: productId,
            quantity: quantity ?? 1, purchaseDate: purchaseDate, originalPurchaseDate: originalPurchaseDate,
            expiresDate: expiresDate, cancellationDate: cancellation.known, cancellationReason: cancellationReason,
            isUpgraded: isUpgraded ?? false, webOrderLineItemId: webOrderLineItemId,
            appAccountToken: appAccountToken, inAppOwnershipType: inAppOwnershipType,
            subscriptionGroupIdentifier: subscriptionGroupIdentifier, isTrialPeriod: isTrialPeriod ?? false,
            isInIntroOfferPeriod: isInIntroOfferPeriod ?? false, promotionalOfferId: promotionalOfferId,
            offerCodeRefName: offerCodeRefName, isInReceipt: isInReceipt)
    }
}

/// Statements about transactions, put together by transaction id.
struct PurchaseStatements {
    private var byId: [String: PurchaseStatement] = [:]
    private var order: [String] = []
    /// Entries that do not say which transaction they are about.
    private var nameless = 0

    /// Takes statements that are newer than those before.
    mutating func add(_ entries: [PurchaseStatement?], areInReceipt: Bool = false) {
        for entry in entries {
            guard var entry, let id = entry.transactionId else {
                nameless += 1
                continue
            }
            entry.isInReceipt = areInReceipt
            if let older = byId.updateValue(entry, forKey: id) {
                byId[id] = older.updated(by: entry)
            } else {
                order.append(id)
            }
        }
    }

    /// The purchases in the order in which they were first named, and how many more there are.
    var read: (purchases: [VerifyReceiptAnswer.Purchase], unreadable: Int) {
        let purchases = order.compactMap { byId[$0]?.purchase }
        return (purchases, order.count - purchases.count + nameless)
    }
}
