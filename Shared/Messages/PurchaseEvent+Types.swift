extension PurchaseEvent {
    /// `iap.transaction.fulfilled`: an account has what it bought.
    package static let fulfilled = "iap.transaction.fulfilled"
    /// `iap.transaction.unclaimed`: genuine, held back for a doubt.
    package static let unclaimed = "iap.transaction.unclaimed"
    /// `iap.transaction.revoked`: recorded as taken back by Apple; nothing was granted.
    package static let revoked = "iap.transaction.revoked"
    /// `iap.transaction.recovered`: nobody had told of it, and the sweep found it at Apple; beside the event that tells what
    /// came of it.
    package static let recovered = "iap.transaction.recovered"

    /// `iap.refund.granted`: Apple refunded what was granted, in full or in part; the entries say what was taken.
    package static let refundGranted = "iap.refund.granted"
    /// `iap.refund.reversed`: a refund was taken back, and what it took is given back.
    package static let refundReversed = "iap.refund.reversed"
    /// `iap.family.revoked`: Family Sharing ended for this account.
    package static let familyRevoked = "iap.family.revoked"
    /// `iap.consent.rescinded`: a guardian withdrew consent; the entitlements of this order may not be used.
    package static let consentRescinded = "iap.consent.rescinded"

    /// `iap.customer.transferred`: what one account had, another has now; told to both.
    package static let transferred = "iap.customer.transferred"
    /// `iap.customer.shared`: another account may use it, too; told to both.
    package static let shared = "iap.customer.shared"
    /// `iap.account.adjusted`: an operator gave or took by hand, or what was granted too much was corrected; the entries
    /// say which.
    package static let adjusted = "iap.account.adjusted"

    /// `iap.entitlement.granted`: a person gave it, or moved its end.
    package static let entitlementGranted = "iap.entitlement.granted"
    /// `iap.entitlement.expired`: the end came by the clock, or an upgrade took its place, and nothing else gives it; of a
    /// subscription's current period see below.
    package static let entitlementExpired = "iap.entitlement.expired"

    /// `iap.subscription.started`: known for the first time, or again after it had expired.
    package static let subscriptionStarted = "iap.subscription.started"
    /// `iap.subscription.renewed`: another period is paid for.
    package static let subscriptionRenewed = "iap.subscription.renewed"
    /// `iap.subscription.recovered`: paid for after a failed payment.
    package static let subscriptionRecovered = "iap.subscription.recovered"
    /// `iap.subscription.renewal_failed`: the payment failed, and access is over.
    package static let subscriptionRenewalFailed = "iap.subscription.renewal_failed"
    /// `iap.subscription.grace_started`: the payment failed, and access goes on.
    package static let subscriptionGraceStarted = "iap.subscription.grace_started"
    /// `iap.subscription.grace_ended`: access is over; the App Store may still try to charge.
    package static let subscriptionGraceEnded = "iap.subscription.grace_ended"
    /// `iap.subscription.expired`: over.
    package static let subscriptionExpired = "iap.subscription.expired"
    /// `iap.subscription.revoked`: its current period was taken back.
    package static let subscriptionRevoked = "iap.subscription.revoked"
    /// `iap.subscription.restored`: what was taken back was given back, and it runs again.
    package static let subscriptionRestored = "iap.subscription.restored"
    /// `iap.subscription.cancel_scheduled`: it will not renew; in a commitment, not after its last month.
    package static let subscriptionCancelScheduled = "iap.subscription.cancel_scheduled"
    /// `iap.subscription.cancel_undone`: it will renew after all.
    package static let subscriptionCancelUndone = "iap.subscription.cancel_undone"
    /// `iap.subscription.plan_changed`: another product from now on.
    package static let subscriptionPlanChanged = "iap.subscription.plan_changed"
    /// `iap.subscription.plan_change_scheduled`: another product from the next renewal on, or no longer so.
    package static let subscriptionPlanChangeScheduled = "iap.subscription.plan_change_scheduled"
    /// `iap.subscription.price_increase_pending`: the customer was asked.
    package static let subscriptionPriceIncreasePending = "iap.subscription.price_increase_pending"
    /// `iap.subscription.price_increase_accepted`: the customer agreed, or needed not to.
    package static let subscriptionPriceIncreaseAccepted = "iap.subscription.price_increase_accepted"
    /// `iap.subscription.extended`: the current period ends later than it did.
    package static let subscriptionExtended = "iap.subscription.extended"
}
