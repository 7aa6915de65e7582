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

    /// What it does to what may be used.
    enum Access {
        /// It may be used from now on, or goes on so.
        case given
        /// It may be used no more.
        case taken
    }

    /// What it does to what may be used; nil of plans, which do nothing.
    var access: Access? {
        switch self {
        case .started, .renewed, .recovered, .restored, .planChanged, .extended, .graceStarted: .given
        case .graceEnded, .renewalFailed, .expired, .revoked: .taken
        case .cancelScheduled, .cancelUndone, .planChangeScheduled, .priceIncreasePending, .priceIncreaseAccepted: nil
        }
    }
}
