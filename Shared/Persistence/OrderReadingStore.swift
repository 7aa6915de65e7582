public import Foundation
public import Postgres
public import PurchaseModel

/// One order with everything that was written because of it, for who asks for its story.
public struct OrderReadingStore: Sendable {
    /// The most rows of each kind that are read with an order, the oldest first.
    public static let rowsMaximum = 200

    private let pool: PostgresPool

    /// Works on the database of a pool.
    public init(pool: PostgresPool) {
        self.pool = pool
    }

    /// An order, and the rows that name it, all of one moment.
    public struct Story: Sendable {
        /// The order.
        public let order: AccountStore.Transaction
        /// Its environment.
        public let environment: StoreEnvironment
        /// Its app.
        public let app: String
        /// Whose it is; nil while in doubt.
        public let account: String?
        /// The UUID that the app set when it bought.
        public let appAccountToken: UUID?
        /// When Apple signed what the order rests on.
        public let signedDate: Date
        /// Follows the purchase from the request to the webhook.
        public let correlationId: String
        /// The submission that brought what the order rests on.
        public let submissionId: String
        /// The catalogue that it was decided by; nil in orders older than catalogues' numbers.
        public let catalogueVersion: Int64?
        /// Whether its price is one that the catalogue names; nil where the catalogue or Apple's data names none.
        public let isPriceExpected: Bool?
        /// What was posted, as far as it is linked with the order; the oldest first.
        public let submissions: [Submission]
        /// What was credited and taken, in the order of the ledger.
        public let entries: [Entry]
        /// What accounts may use because of it, or could before it was taken back.
        public let entitlements: [OwnedEntitlement]
        /// Whose its lineage was, and is; the oldest first.
        public let bindings: [Binding]
        /// What operators said of it; the oldest first.
        public let claims: [OperatorClaim]
        /// Where the subscription stands that it is a period of.
        public let subscription: AccountStore.Subscription?
        /// What remains of its price, as estimated; nil for what nobody paid for.
        public let proceeds: Proceeds?
        /// What was told of it, the oldest first.
        public let events: [Event]
        /// How the tellings went.
        public let deliveries: [Delivery]
    }

    /// A submission that brought or named the order.
    public struct Submission: Sendable {
        /// Its id.
        public let id: String
        /// The account that posted it.
        public let account: String
        /// The kind of proof, see `ProofKind`.
        public let kind: String
        /// The transaction that a receipt was posted for.
        public let namedTransactionId: String?
        /// Where it stands, see `SubmissionState`.
        public let state: String
        /// Why it was refused, parked or put off.
        public let reason: ReasonCode?
        /// How often it was sent again.
        public let attempts: Int
        /// When it was on disk.
        public let receivedAt: Date
        /// When it had its outcome.
        public let settledAt: Date?
        /// When it is sent again; nil once it has an outcome.
        public let dueAt: Date?
    }

    /// A line of the ledger.
    public struct Entry: Sendable {
        /// `grant`, `revocation` or `reversal`.
        public let kind: String
        /// Whose balance changed.
        public let account: String
        /// The item.
        public let item: String
        /// How many; less than zero is taken.
        public let amount: Int64
        /// When.
        public let createdAt: Date
    }

    /// Something that an account may use because of the order.
    public struct OwnedEntitlement: Sendable {
        /// The account.
        public let account: String
        /// What it may use.
        public let entitlement: AccountStore.Entitlement
    }

    /// An event about the order.
    public struct Event: Sendable {
        /// Its id.
        public let id: String
        /// Its type.
        public let type: String
        /// Whose event it is.
        public let account: String?
        /// Its number among the account's events.
        public let sequence: Int64?
        /// Why the order was not granted then, as the event says.
        public let reason: ReasonCode?
        /// When it was written.
        public let createdAt: Date
        /// Whether the notification service has it.
        public let isTakenOver: Bool
    }

    /// One endpoint's being told of one event.
    public struct Delivery: Sendable {
        /// The event.
        public let eventId: String
        /// The endpoint's name in the settings.
        public let endpointId: String
        /// `pending`, `delivered` or `abandoned`.
        public let state: String
        /// Attempts made.
        public let attempts: Int
        /// The HTTP status of the last answer.
        public let lastStatus: Int?
        /// When it was first due.
        public let createdAt: Date
        /// When the endpoint took it.
        public let deliveredAt: Date?
        /// When it is tried next.
        public let dueAt: Date?
    }

    /// The order of an app, with what was written because of it; nil when there is none.
    ///
    /// Proofs, event bodies and what endpoints answered are left out.
    ///
    /// - Throws: `PostgresError`; `DecodingError` for a standing that no fulfillment wrote.
    public func story(of key: OrderKey, app: String) async throws -> Story? {
        try await pool.withTransaction { connection in
            try await Snapshot.begin(on: connection)
            let found = try await connection.query(Self.orderStatement, Self.parameters(key) + [.text(app)])
            guard let row = found.rows.first else { return nil }
            let order = try AccountStore.Transaction(row)
            let submissionId = try row.decode("submission_id", as: String.self)
            return Story(
                order: order, environment: key.environment, app: app, account: try row.decodeIfPresent("account"),
                appAccountToken: try row.decodeIfPresent("app_account_token"),
                signedDate: try row.decode("signed_date"), correlationId: try row.decode("correlation_id"),
                submissionId: submissionId, catalogueVersion: try row.decodeIfPresent("catalogue_version"),
                isPriceExpected: try row.decodeIfPresent("is_price_expected"),
                submissions: try await Self.submissions(key, app, submissionId, on: connection),
                entries: try await Self.entries(key, on: connection),
                entitlements: try await Self.entitlements(key, on: connection),
                bindings: try await Self.bindings(key, app, order.originalTransactionId, on: connection),
                claims: try await Self.claims(key, on: connection),
                subscription: try await Self.subscription(key, app, order.originalTransactionId, on: connection),
                proceeds: try await Self.proceeds(key, app, on: connection),
                events: try await Self.events(key, on: connection),
                deliveries: try await Self.deliveries(key, on: connection))
        }
    }

    static func parameters(_ key: OrderKey) -> [PostgresValue] {
        [.text(key.environment.rawValue), .text(key.transactionId)]
    }

    private static let orderStatement = """
        SELECT \(AccountStore.Transaction.columns), account, app_account_token, signed_date, correlation_id,
            submission_id, catalogue_version, is_price_expected
        FROM orders WHERE environment = $1 AND transaction_id = $2 AND app = $3
        """
}
