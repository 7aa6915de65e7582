extension AppStoreServerClient {
    /// Get All Subscription Statuses, of the customer who has a transaction.
    ///
    /// - Parameter statuses: only these; all when there are none.
    public func subscriptionStatuses(
        of anyTransactionId: String, only statuses: [SubscriptionStatus] = [], in environment: AppStoreEnvironment
    ) async throws -> StatusResponse {
        let id = try PathPart.identifier(anyTransactionId, .invalidTransactionId)
        let call = APICall(.get, "v1", "subscriptions", id).query(
            statuses.map { ("status", String($0.rawValue)) })
        return try await value(call, in: environment)
    }
}

/// Where each subscription of a customer stands.
public struct StatusResponse: Decodable, Sendable, Hashable {
    /// Where the purchases were made.
    public let environment: EnvironmentName?
    /// The app.
    public let bundleId: String?
    /// The app's number; none in the sandbox, perhaps.
    public let appAppleId: Int64?
    /// By group of subscriptions.
    public let data: [Group]

    /// A group of subscriptions.
    public struct Group: Decodable, Sendable, Hashable {
        /// The group.
        public let subscriptionGroupIdentifier: String?
        /// The latest transaction of each subscription in it.
        public let lastTransactions: [Item]
    }

    /// A subscription.
    public struct Item: Decodable, Sendable, Hashable {
        /// Where it stands.
        public let status: SubscriptionStatus
        /// Which subscription it is.
        public let originalTransactionId: String?
        /// JWS, not verified.
        public let signedTransactionInfo: String?
        /// JWS, not verified.
        public let signedRenewalInfo: String?
    }
}
