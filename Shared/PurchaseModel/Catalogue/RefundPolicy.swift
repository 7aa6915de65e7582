/// What Apple is told about a product when a customer asks for a refund (CONSUMPTION_REQUEST).
package struct RefundPolicy: Sendable, Hashable {
    /// What the studio would like Apple to do.
    package enum Preference: String, Codable, Sendable, Hashable, CaseIterable {
        /// No refund.
        case decline
        /// A whole refund.
        case grantFull = "grant_full"
        /// A refund of what was not used.
        case grantProrated = "grant_prorated"
    }

    /// The preference; nil says none.
    package let preference: Preference?
    /// The preference once a part of it is known to be used; nil where that changes nothing.
    package let whenConsumed: Preference?
    /// Whether customers can try the product before they buy it.
    package let hasSample: Bool

    /// Makes a policy.
    package init(preference: Preference? = nil, whenConsumed: Preference? = nil, hasSample: Bool = false) {
        self.preference = preference
        self.whenConsumed = whenConsumed
        self.hasSample = hasSample
    }

    /// The policy of a product that names none, and of one that is sold no more.
    package static let silent = RefundPolicy()
}
