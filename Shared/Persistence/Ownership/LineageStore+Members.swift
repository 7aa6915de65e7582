package import Postgres
package import PurchaseModel

/// The table `lineage_members`: the further original ids of lineages.
extension LineageStore {
    /// The lineage that an original id belongs to which is not the lineage's own.
    package struct Member: Sendable, Hashable {
        package let lineage: LineageKey
        /// The app's bundle id: Apple's ids are not shared by apps.
        package let app: String
    }

    /// All original ids of the lineage whose own is one, as an array.
    static func originals(of id: String, in environment: StoreEnvironment) -> SQL {
        """
        ARRAY(SELECT \(id) UNION ALL SELECT original_transaction_id FROM lineage_members
            WHERE (environment, lineage_id) = (\(environment), \(id)))
        """
    }

    /// The lineages of original ids that are not their lineage's own; all others are left out.
    ///
    /// - Throws: `PostgresError`.
    package static func members(
        among keys: Set<LineageKey>, on connection: PostgresConnection
    ) async throws -> [LineageKey: Member] {
        guard !keys.isEmpty else { return [:] }
        let result = try await connection.query(
            """
            SELECT m.environment, m.original_transaction_id, m.lineage_id, m.app
            FROM \(SQL.rows(of: Array(keys))) AS asked (environment, original_transaction_id)
            JOIN lineage_members m USING (environment, original_transaction_id)
            """)
        let members = try result.map {
            (environment: StoreEnvironment, originalTransactionId: String, lineageId: String, app: String) in
            (
                LineageKey(environment: environment, originalTransactionId: originalTransactionId),
                Member(lineage: LineageKey(environment: environment, originalTransactionId: lineageId), app: app)
            )
        }
        return Dictionary(uniqueKeysWithValues: members)
    }

    /// That two original ids are one lineage's.
    package struct Join: Sendable, Hashable {
        /// What told of it.
        package enum Cause: String, PostgresEncodable, Sendable {
            /// One transaction id, signed under both.
            case transaction
            /// A transaction names the other as that of the subscription whose place it took.
            case previousOriginal = "previous_original"
        }

        /// The original id that is the lineage's own from now on, with all that hangs on it.
        package let into: LineageKey
        /// The other, of which nothing is left under its own name but its history.
        package let from: LineageKey
        /// The app's bundle id.
        package let app: String
        package let cause: Cause
        package let transactionId: String
        package let submissionId: String
        /// The account that had ``from``, where another has ``into``, and gets it.
        package let loser: Account?
        /// The account that has ``into``; nil where nobody does.
        package let owner: Account?

        package init(
            into: LineageKey, from: LineageKey, app: String, cause: Cause, transactionId: String, submissionId: String,
            loser: Account?, owner: Account?
        ) {
            self.into = into
            self.from = from
            self.app = app
            self.cause = cause
            self.transactionId = transactionId
            self.submissionId = submissionId
            self.loser = loser
            self.owner = owner
        }

        var fromId: String { from.originalTransactionId }
        var intoId: String { into.originalTransactionId }
    }

    /// Makes two lineages one, in the transaction that holds both locked.
    ///
    /// Everything that has the one original id has the other from now on. Nothing is granted by it.
    ///
    /// - Throws: `PostgresError`.
    package static func join(_ join: Join, on connection: PostgresConnection) async throws {
        if let loser = join.loser, let owner = join.owner {
            try await EntitlementStore.move(
                [EntitlementStore.Move(lineage: join.from, from: loser, to: owner)], on: connection)
            try await OrderStore.give(join, from: loser, to: owner, on: connection)
            let change = BindingChange(from: loser, to: owner, cause: .token)
            let binding = Binding(
                lineage: join.from, app: join.app, change: change, submissionId: join.submissionId)
            try await append([binding], on: connection)
        }
        try await OrderStore.join(join, on: connection)
        try await SubscriptionStore.join(join, on: connection)
        try await RenewalStatementStore.join(join, on: connection)
        try await LineageHistoryStore.join(join, on: connection)
        try await EntitlementStore.join(join, on: connection)
        try await note(join, on: connection)
        try await write(join, on: connection)
        _ = try await connection.query(
            """
            DELETE FROM lineages
            WHERE environment = \(join.from.environment) AND original_transaction_id = \(join.fromId)
            """)
    }

    private static func note(_ join: Join, on connection: PostgresConnection) async throws {
        _ = try await connection.query(
            """
            UPDATE lineage_members SET lineage_id = \(join.intoId)
            WHERE environment = \(join.from.environment) AND lineage_id = \(join.fromId)
            """)
        _ = try await connection.query(
            """
            INSERT INTO lineage_members
                (environment, original_transaction_id, lineage_id, app, cause, transaction_id, submission_id)
            VALUES (\(join.from.environment), \(join.fromId), \(join.intoId), \(join.app), \(join.cause), \(join.transactionId),
                \(join.submissionId)) ON CONFLICT (environment, original_transaction_id) DO NOTHING
            """)
    }

    // The token is that of the newest purchase of both.
    private static func write(_ join: Join, on connection: PostgresConnection) async throws {
        _ = try await connection.query(
            """
            UPDATE lineages l SET
                token = CASE WHEN is_newer THEN f.token ELSE l.token END,
                token_purchase_date = CASE WHEN is_newer THEN f.token_purchase_date ELSE l.token_purchase_date END,
                token_signed_date = CASE WHEN is_newer THEN f.token_signed_date ELSE l.token_signed_date END,
                bound_signed_date = greatest(l.bound_signed_date, f.bound_signed_date),
                claimed_purchase_date = greatest(l.claimed_purchase_date, f.claimed_purchase_date),
                open_since = least(l.open_since, f.open_since),
                tokens_void_until = greatest(l.tokens_void_until, f.tokens_void_until)
            FROM (
                SELECT f.*, f.token IS NOT NULL AND (i.token IS NULL
                    OR (f.token_purchase_date, f.token_signed_date, f.token::text)
                        > (i.token_purchase_date, i.token_signed_date, i.token::text)) AS is_newer
                FROM lineages f, lineages i
                WHERE (f.environment, f.original_transaction_id) = (\(join.from.environment), \(join.fromId))
                    AND (i.environment, i.original_transaction_id) = (\(join.from.environment), \(join.intoId))) f
            WHERE (l.environment, l.original_transaction_id) = (\(join.from.environment), \(join.intoId))
            """)
    }
}
