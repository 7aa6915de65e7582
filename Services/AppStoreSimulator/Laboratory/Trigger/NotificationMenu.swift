/// Apple's server notifications: types, their subtypes, and what they tell.
///
/// Source: apple-facts C8, after Apple's `notificationType` and `subtype` pages and their changelog.
enum NotificationMenu {
    struct Entry: Encodable, Sendable {
        let type: String
        var subtypes: [String] = []
        /// Whether it also comes without a subtype.
        var comesAlone = false
        let meaning: String
    }

    /// The entry of a type.
    static func entry(_ type: String) -> Entry? { entries.first { $0.type == type } }

    static let entries = [
        Entry(type: "SUBSCRIBED", subtypes: ["INITIAL_BUY", "RESUBSCRIBE"], meaning: "somebody subscribed"),
        Entry(
            type: "DID_CHANGE_RENEWAL_PREF", subtypes: ["UPGRADE", "DOWNGRADE"], comesAlone: true,
            meaning: "another plan; alone: a downgrade was undone"),
        Entry(
            type: "DID_CHANGE_RENEWAL_STATUS", subtypes: ["AUTO_RENEW_ENABLED", "AUTO_RENEW_DISABLED"],
            meaning: "renewal was switched on or off"),
        Entry(
            type: "OFFER_REDEEMED", subtypes: ["UPGRADE", "DOWNGRADE"], comesAlone: true,
            meaning: "an active subscriber took an offer"),
        Entry(type: "DID_RENEW", subtypes: ["BILLING_RECOVERY"], comesAlone: true, meaning: "a period was paid"),
        Entry(
            type: "EXPIRED", subtypes: ["VOLUNTARY", "BILLING_RETRY", "PRICE_INCREASE", "PRODUCT_NOT_FOR_SALE"],
            comesAlone: true, meaning: "a subscription ended"),
        Entry(
            type: "DID_FAIL_TO_RENEW", subtypes: ["GRACE_PERIOD"], comesAlone: true,
            meaning: "a payment failed; Apple keeps trying"),
        Entry(type: "GRACE_PERIOD_EXPIRED", comesAlone: true, meaning: "grace is over, billing retry goes on"),
        Entry(
            type: "PRICE_INCREASE", subtypes: ["PENDING", "ACCEPTED"],
            meaning: "a subscriber is asked about a higher price, or has it"),
        Entry(type: "REFUND", comesAlone: true, meaning: "money was given back"),
        Entry(type: "REFUND_DECLINED", comesAlone: true, meaning: "a request for a refund was declined"),
        Entry(type: "REFUND_REVERSED", comesAlone: true, meaning: "a refund was undone: give back what was revoked"),
        Entry(
            type: "CONSUMPTION_REQUEST", comesAlone: true,
            meaning: "a refund is asked: Apple wants to know what was consumed"),
        Entry(type: "RENEWAL_EXTENDED", comesAlone: true, meaning: "a subscription's renewal date was extended"),
        Entry(
            type: "RENEWAL_EXTENSION", subtypes: ["SUMMARY", "FAILURE"],
            meaning: "an extension for all subscribers is done, or failed for one"),
        Entry(type: "REVOKE", comesAlone: true, meaning: "access by Family Sharing ended"),
        Entry(type: "ONE_TIME_CHARGE", comesAlone: true, meaning: "something that does not renew was bought"),
        Entry(
            type: "EXTERNAL_PURCHASE_TOKEN", subtypes: ["UNREPORTED", "CREATED", "ACTIVE_TOKEN_REMINDER"],
            meaning: "an external purchase token wants a report"),
        Entry(type: "RESCIND_CONSENT", comesAlone: true, meaning: "a guardian withdrew consent to the app"),
        Entry(type: "METADATA_UPDATE", comesAlone: true, meaning: "Advanced Commerce: metadata changed"),
        Entry(type: "MIGRATION", comesAlone: true, meaning: "Advanced Commerce: a subscription moved"),
        Entry(type: "PRICE_CHANGE", comesAlone: true, meaning: "Advanced Commerce: a price changed"),
        Entry(type: "TEST", comesAlone: true, meaning: "a test that was asked for"),
    ]
}
