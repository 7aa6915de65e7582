import Messages
import PurchaseModel

extension SubscriptionChange {
    /// The type of the event that tells of it.
    var eventType: String {
        switch self {
        case .started: PurchaseEvent.subscriptionStarted
        case .renewed: PurchaseEvent.subscriptionRenewed
        case .recovered: PurchaseEvent.subscriptionRecovered
        case .restored: PurchaseEvent.subscriptionRestored
        case .planChanged: PurchaseEvent.subscriptionPlanChanged
        case .extended: PurchaseEvent.subscriptionExtended
        case .graceStarted: PurchaseEvent.subscriptionGraceStarted
        case .graceEnded: PurchaseEvent.subscriptionGraceEnded
        case .renewalFailed: PurchaseEvent.subscriptionRenewalFailed
        case .expired: PurchaseEvent.subscriptionExpired
        case .revoked: PurchaseEvent.subscriptionRevoked
        case .cancelScheduled: PurchaseEvent.subscriptionCancelScheduled
        case .cancelUndone: PurchaseEvent.subscriptionCancelUndone
        case .planChangeScheduled: PurchaseEvent.subscriptionPlanChangeScheduled
        case .priceIncreasePending: PurchaseEvent.subscriptionPriceIncreasePending
        case .priceIncreaseAccepted: PurchaseEvent.subscriptionPriceIncreaseAccepted
        }
    }

    /// Whether it says what may be used from now on, or no more; plans change neither.
    var concernsAccess: Bool {
        switch self {
        case .started, .renewed, .recovered, .restored, .planChanged, .extended, .graceStarted, .graceEnded,
            .renewalFailed, .expired, .revoked:
            true
        case .cancelScheduled, .cancelUndone, .planChangeScheduled, .priceIncreasePending, .priceIncreaseAccepted:
            false
        }
    }
}
