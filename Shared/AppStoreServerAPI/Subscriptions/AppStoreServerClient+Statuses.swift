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
    /// The latest transaction of each subscription, of all groups.
    public let lastTransactions: [Item]
    /// How many entries besides, groups or subscriptions, are no objects.
    public let unreadableEntries: Int

    private enum CodingKeys: CodingKey { case data }

    /// A group of subscriptions.
    private struct Group: Decodable {
        let lastTransactions: AnswerEntries<Item>
    }

    /// Reads Apple's JSON; an answer without groups is not read.
    public init(from decoder: any Decoder) throws {
        let groups = try decoder.container(keyedBy: CodingKeys.self).decode(AnswerEntries<Group>.self, forKey: .data)
        let items: [Item?] = groups.entries.flatMap { $0?.lastTransactions.entries ?? [nil] }
        lastTransactions = items.compactMap(\.self)
        unreadableEntries = items.count { $0 == nil }
    }

    /// A subscription; a field that cannot be read is nil.
    public struct Item: Decodable, Sendable, Hashable {
        /// Where it stands.
        public let status: SubscriptionStatus?
        /// Which subscription it is.
        public let originalTransactionId: String?
        /// JWS, not verified.
        public let signedTransactionInfo: String?
        /// JWS, not verified.
        public let signedRenewalInfo: String?

        private enum CodingKeys: CodingKey {
            case status, originalTransactionId, signedTransactionInfo, signedRenewalInfo
        }

        /// Reads Apple's JSON.
        public init(from decoder: any Decoder) throws {
            let fields = try decoder.container(keyedBy: CodingKeys.self)
            status = try? fields.decode(SubscriptionStatus.self, forKey: .status)
            originalTransactionId = try? fields.decode(String.self, forKey: .originalTransactionId)
            signedTransactionInfo = try? fields.decode(String.self, forKey: .signedTransactionInfo)
            signedRenewalInfo = try? fields.decode(String.self, forKey: .signedRenewalInfo)
        }
    }
}
