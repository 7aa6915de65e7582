package import Foundation
package import Postgres
package import PurchaseModel

/// One order with everything that was written because of it, for who asks for its story.
package struct OrderReadingStore: Sendable {
    /// The most rows of each kind that are read with an order, the oldest first.
    package static let rowsMaximum = 200

    private let pool: PostgresPool

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// An order, and the rows that name it, all of one moment.
    package struct Story: Sendable {
        /// The order.
        package let order: AccountStore.Transaction
        /// Apple's transaction ids of the purchase: the order's own, then the others, sorted.
        package let transactionIds: [TransactionId]
        /// Its environment.
        package let environment: StoreEnvironment
        /// Its app.
        package let app: String
        /// Whose it is; nil while in doubt.
        package let account: String?
        /// The UUID that the app set when it bought.
        package let appAccountToken: UUID?
        /// The app's own number of the order, of the intent with this token.
        package let reference: String?
        /// When Apple signed what the order rests on.
        package let signedDate: Date
        /// Follows the purchase from the request to the webhook.
        package let correlationId: String
        /// The submission that brought what the order rests on.
        package let submissionId: String
        /// The catalogue that it was decided by; nil in orders older than catalogues' numbers.
        package let catalogueVersion: Int64?
        /// Whether its price is one that the catalogue names; nil where the catalogue or Apple's data names none.
        package let isPriceExpected: Bool?
        /// What was posted, as far as it is linked with the order; the oldest first.
        package let submissions: [Submission]
        /// What was credited and taken, in the order of the ledger.
        package let entries: [Entry]
        /// What accounts may use because of it, or could before it was taken back.
        package let entitlements: [OwnedEntitlement]
        /// Whose its lineage was, and is; the oldest first.
        package let bindings: [Binding]
        /// What operators said of it; the oldest first.
        package let claims: [OperatorClaim]
        /// Where the subscription stands that it is a period of.
        package let subscription: AccountStore.Subscription?
        /// What remains of its price, as estimated; nil for what nobody paid for.
        package let proceeds: Proceeds?
        /// What was told of it, the oldest first.
        package let events: [Event]
        /// How the tellings went.
        package let deliveries: [Delivery]
    }

    /// A submission that brought or named the order.
    package struct Submission: Sendable {
        /// Its id.
        package let id: String
        /// The account that posted it; empty where Apple did, or an import that names none.
        package let account: String
        /// Whether an import brought it from an older system.
        package let isImported: Bool
        /// The kind of proof, see `ProofKind`.
        package let kind: String
        /// The transaction that a receipt was posted for.
        package let namedTransactionId: String?
        /// Where it stands.
        package let state: SubmissionState
        /// Why it was refused, parked or put off.
        package let reason: ReasonCode?
        /// How often it was sent again.
        package let attempts: Int
        /// When it was on disk.
        package let receivedAt: Date
        /// When it had its outcome.
        package let settledAt: Date?
        /// When it is sent again; nil once it has an outcome.
        package let dueAt: Date?
    }

    /// A line of the ledger.
    package struct Entry: Sendable {
        /// `grant`, `revocation`, `reversal` or `correction`.
        package let kind: String
        /// Whose balance changed.
        package let account: String
        /// The item.
        package let item: String
        /// How many; less than zero is taken.
        package let amount: Int64
        /// When.
        package let createdAt: Date
    }

    /// Something that an account may use because of the order.
    package struct OwnedEntitlement: Sendable {
        /// The account.
        package let account: String
        /// What it may use.
        package let entitlement: AccountStore.Entitlement
    }

    /// An event about the order.
    package struct Event: Sendable {
        /// Its id.
        package let id: String
        /// Its type.
        package let type: String
        /// Whose event it is.
        package let account: String?
        /// Its number among the account's events.
        package let sequence: Int64?
        /// Why the order was not granted then, as the event says.
        package let reason: ReasonCode?
        /// When it was written.
        package let createdAt: Date
        /// Whether the notification service has it.
        package let isTakenOver: Bool
    }

    /// One endpoint's being told of one event.
    package struct Delivery: Sendable {
        /// The event.
        package let eventId: String
        /// The endpoint's name in the settings.
        package let endpointId: String
        /// `pending`, `delivered` or `abandoned`.
        package let state: String
        /// Attempts made.
        package let attempts: Int
        /// The HTTP status of the last answer.
        package let lastStatus: Int?
        /// When it was first due.
        package let createdAt: Date
        /// When the endpoint took it.
        package let deliveredAt: Date?
        /// When it is tried next.
        package let dueAt: Date?
    }

    /// The order of an app, with what was written because of it; nil when there is none.
    ///
    /// Proofs, event bodies and what endpoints answered are left out.
    ///
    /// - Parameter anyKey: any of Apple's transaction ids of the purchase.
    /// - Throws: `PostgresError`.
    package func story(of anyKey: OrderKey, app: String) async throws -> Story? {
        try await pool.withTransaction { connection in
            try await Snapshot.begin(on: connection)
            let found = try await connection.query(Self.order(anyKey, app))
            guard let row = found.rows.first else { return nil }
            let order = try AccountStore.Transaction(row)
            // Every other table names the order by its own id.
            let key = OrderKey(environment: anyKey.environment, transactionId: order.transactionId)
            let ids = try await Self.transactionIds(key, on: connection)
            let submissionId = try row.decode("submission_id", as: String.self)
            return Story(
                order: order, transactionIds: ids, environment: key.environment, app: app,
                account: try row.decodeIfPresent("account"),
                appAccountToken: try row.decodeIfPresent("app_account_token"),
                reference: try row.decodeIfPresent("reference"),
                signedDate: try row.decode("signed_date"), correlationId: try row.decode("correlation_id"),
                submissionId: submissionId, catalogueVersion: try row.decodeIfPresent("catalogue_version"),
                isPriceExpected: try row.decodeIfPresent("is_price_expected"),
                submissions: try await Self.submissions(
                    key, app, ids.map(\.submissionId) + [submissionId], on: connection),
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

    private static func order(_ anyKey: OrderKey, _ app: String) -> SQL {
        """
        SELECT \(AccountStore.Transaction.columns), account, app_account_token, signed_date, correlation_id,
            submission_id, catalogue_version, is_price_expected,
            (SELECT reference FROM purchase_intents i
                WHERE i.id = app_account_token AND i.app = orders.app AND i.account = orders.account) AS reference
        FROM orders WHERE environment = \(anyKey.environment) AND transaction_id = \(ownId(anyKey)) AND app = \(app)
        """
    }
}
