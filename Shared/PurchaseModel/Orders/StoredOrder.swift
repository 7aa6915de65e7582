package import Foundation

/// An order as it is stored.
package struct StoredOrder: Sendable, Hashable {
    package let key: OrderKey
    /// The app's bundle id.
    package let app: String
    package let lineage: LineageKey
    package var state: OrderState
    /// Why it is not granted.
    package var reason: ReasonCode?
    /// Whose it is; nil while in doubt.
    package var account: Account?
    /// Whether it was granted once, also where it is revoked now.
    package let wasGranted: Bool
    package let productType: ProductType
    package let purchaseDate: Date
    package let expiresDate: Date?
    /// The appAccountToken that Apple's data has for it.
    package let token: UUID?
    /// Apple's `transactionReason`: `PURCHASE`, `RENEWAL`; nil where it is not known.
    package let transactionReason: String?
    package let testPurchase: TestPurchase?
    /// The submission that brought it, or claimed it later.
    package let submissionId: String
    /// Follows a purchase from the request to the webhook.
    package let correlationId: String
    /// Whether its row has keys; what contradicted another order has none, and gets none.
    package let hasKeys: Bool
    /// Whether an older system granted it, as far as anybody has it.
    package let isGrantedElsewhere: Bool
    /// What Apple signed of it; nil where nobody asked for that.
    package let purchase: Purchase?

    package init(
        key: OrderKey, app: String, lineage: LineageKey, state: OrderState, reason: ReasonCode?, account: Account?,
        wasGranted: Bool, productType: ProductType, purchaseDate: Date, expiresDate: Date?, token: UUID?,
        transactionReason: String?, testPurchase: TestPurchase?, submissionId: String, correlationId: String,
        hasKeys: Bool, isGrantedElsewhere: Bool = false, purchase: Purchase?
    ) {
        self.key = key
        self.app = app
        self.lineage = lineage
        self.state = state
        self.reason = reason
        self.account = account
        self.wasGranted = wasGranted
        self.productType = productType
        self.purchaseDate = purchaseDate
        self.expiresDate = expiresDate
        self.token = token
        self.transactionReason = transactionReason
        self.testPurchase = testPurchase
        self.submissionId = submissionId
        self.correlationId = correlationId
        self.hasKeys = hasKeys
        self.isGrantedElsewhere = isGrantedElsewhere
        self.purchase = purchase
    }

    /// Whether nothing of it is vouched for: it says nothing of its lineage.
    package var isUnvouched: Bool { state == .parked && reason == .signedWithExpiredCertificate }
    /// Whether it is parked, and no account known.
    package var isUnclaimed: Bool { state == .parked && account == nil }
    /// Whether Apple took it back before anybody knew whose it is.
    package var isNobodysRefund: Bool { state == .revoked && account == nil }

    /// Whether it is a period of an auto-renewable subscription.
    package var isPeriod: Bool {
        expiresDate != nil && (productType == .autoRenewable || productType == .unstated)
    }
}
