import Messages

/// What events mean, for a person.
enum EventSentence {
    /// What goes on after the event's name; nil for a type that is not known here.
    static func meaning(of type: String) -> String? { meanings[type] }

    private static let meanings: [String: String] = [
        PurchaseEvent.fulfilled: "the account has what it bought",
        PurchaseEvent.unclaimed: "it is genuine, and held back for a doubt",
        PurchaseEvent.revoked: "Apple had taken it back, so that nothing is granted",
        PurchaseEvent.recovered: "nobody had told of it, and it was found by asking Apple",
        PurchaseEvent.refundGranted: "Apple refunded what had been granted",
        PurchaseEvent.refundReversed: "Apple took the refund back, and the account has again what was taken",
        PurchaseEvent.familyRevoked: "Family Sharing ended for the account",
        PurchaseEvent.consentRescinded: "a guardian withdrew consent, and it may not be used",
        PurchaseEvent.transferred: "what one account had, another has now",
        PurchaseEvent.shared: "another account may use it, too",
        PurchaseEvent.adjusted: "items were given or taken by hand, or to correct a grant",
        PurchaseEvent.entitlementGranted: "it was given by hand",
        PurchaseEvent.entitlementExpired: "what it entitled to has ended",
        PurchaseEvent.subscriptionStarted: "the subscription began, or began again",
        PurchaseEvent.subscriptionRenewed: "another period of the subscription is paid for",
        PurchaseEvent.subscriptionRecovered: "the subscription is paid for after a failed payment",
        PurchaseEvent.subscriptionRenewalFailed: "the payment failed, and access is over",
        PurchaseEvent.subscriptionGraceStarted: "the payment failed, and access goes on for a while",
        PurchaseEvent.subscriptionGraceEnded: "grace is over, and access with it",
        PurchaseEvent.subscriptionExpired: "the subscription is over",
        PurchaseEvent.subscriptionRevoked: "the subscription's current period was taken back",
        PurchaseEvent.subscriptionRestored: "what was taken back of the subscription was given back",
        PurchaseEvent.subscriptionCancelScheduled: "the subscription will not renew",
        PurchaseEvent.subscriptionCancelUndone: "the subscription will renew after all",
        PurchaseEvent.subscriptionPlanChanged: "the subscription is of another product from now on",
        PurchaseEvent.subscriptionPlanChangeScheduled: "the next renewal's product changed",
        PurchaseEvent.subscriptionPriceIncreasePending: "the customer was asked to agree to a higher price",
        PurchaseEvent.subscriptionPriceIncreaseAccepted: "the customer agreed to the higher price, or needed not to",
        PurchaseEvent.subscriptionExtended: "the current period ends later than it did",
    ]
}
