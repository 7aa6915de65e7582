import Postgres
import PurchaseModel

/// What orders that are merged brought to accounts: lines of the ledger, entitlements, subscriptions.
enum MergedGrants {
    // MARK: - Lines

    /// Notes what accounts got beyond what one purchase brings; before the lines move.
    ///
    /// What the first order granted counts. All that remains of what the others granted is too much, and so is what a
    /// refund that is news to the first one takes of its own. What a refund left to the account before stays.
    ///
    /// - Throws: `PostgresError`.
    static func noteDoubles(_ merged: [MergedOrder], on connection: PostgresConnection) async throws {
        let orders = Dictionary(merged.map { ($0.key, $0) }) { first, _ in first }
        let result = try await connection.query(sumsStatement, merged.idColumns)
        var rows: [(order: OrderKey, app: String, account: String, item: String, amount: Int64)] = []
        for row in result.rows {
            let key = try row.orderKey("order_transaction_id")
            guard let order = orders[key] else { continue }
            let refund = TakeBack(from: order.purchase.first.transaction, to: order.transaction).change(
                granted: try row.decode("own_granted"), taken: try row.decode("own_taken"), balance: 0,
                policy: .toNegative)
            let amount = max(0, try row.decode("others", as: Int64.self)) + max(0, -refund)
            guard amount > 0 else { continue }
            rows.append(
                (key, try row.decode("app"), try row.decode("account"), try row.decode("item"), amount))
        }
        guard !rows.isEmpty else { return }
        _ = try await connection.query(
            """
            INSERT INTO double_grants (environment, order_transaction_id, app, account, item, amount)
            SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::int8[])
            """,
            [
                .textArray(rows.map(\.order.environment.rawValue)), .textArray(rows.map(\.order.transactionId)),
                .textArray(rows.map(\.app)), .textArray(rows.map(\.account)), .textArray(rows.map(\.item)),
                .int8Array(rows.map(\.amount)),
            ])
    }

    private static let sumsStatement = """
        SELECT environment, order_transaction_id, app, account, item,
            coalesce(sum(amount) FILTER (WHERE NOT is_own), 0)::int8 AS others,
            coalesce(sum(amount) FILTER (WHERE is_own AND kind = 'grant'), 0)::int8 AS own_granted,
            coalesce(-sum(amount) FILTER (WHERE is_own AND kind <> 'grant'), 0)::int8 AS own_taken
        FROM (
            SELECT l.*, merged.order_transaction_id, merged.transaction_id = merged.order_transaction_id AS is_own
            FROM \([MergedOrder].ids) JOIN ledger_entries l USING (environment, transaction_id)) lines
        GROUP BY 1, 2, 3, 4, 5
        """

    /// Has the lines and entitlements of the others be the merged order's, and its subscription name it.
    ///
    /// - Throws: `PostgresError`.
    static func move(_ merged: [MergedOrder], on connection: PostgresConnection) async throws {
        // Lines never change but here, and of these only which order they name.
        try await connection.executeScript("ALTER TABLE ledger_entries DISABLE TRIGGER ledger_entries_append_only")
        _ = try await connection.query(linesStatement, merged.otherIdColumns)
        try await connection.executeScript("ALTER TABLE ledger_entries ENABLE TRIGGER ledger_entries_append_only")
        _ = try await connection.query(surplusStatement, merged.idColumns)
        _ = try await connection.query(entitlementsStatement, merged.otherIdColumns)
        _ = try await connection.query(
            subscriptionsStatement,
            merged.otherIdColumns + [
                .textArray(
                    merged.flatMap { order in order.purchase.others.map { _ in order.transaction.originalTransactionId }
                    })
            ])
    }

    // They are numbered after the order's own, so that no number is taken twice on the way.
    private static let linesStatement = """
        UPDATE ledger_entries l SET transaction_id = moved.order_transaction_id, sequence = moved.sequence
        FROM (
            SELECT l.id, merged.order_transaction_id,
                coalesce((SELECT max(own.sequence) FROM ledger_entries own
                    WHERE (own.environment, own.transaction_id, own.kind)
                        = (l.environment, merged.order_transaction_id, l.kind)), 0)
                + row_number() OVER (
                    PARTITION BY l.environment, merged.order_transaction_id, l.kind ORDER BY l.id) AS sequence
            FROM \([MergedOrder].ids) JOIN ledger_entries l USING (environment, transaction_id)) moved
        WHERE l.id = moved.id
        """

    // MARK: - Entitlements

    /// Of each name and account one row remains: one in force before one that is not, the longest, the order's own.
    private static let surplusStatement = """
        DELETE FROM entitlements e USING (
            SELECT e.account, e.app, e.environment, e.entitlement, e.transaction_id,
                row_number() OVER (
                    PARTITION BY e.account, e.app, e.environment, e.entitlement, merged.order_transaction_id
                    ORDER BY e.revoked_at IS NOT NULL, e.expires_at DESC NULLS FIRST,
                        merged.transaction_id <> merged.order_transaction_id, e.granted_at, e.transaction_id) AS place
            FROM \([MergedOrder].ids) JOIN entitlements e USING (environment, transaction_id)) ranked
        WHERE (e.account, e.app, e.environment, e.entitlement, e.transaction_id)
            = (ranked.account, ranked.app, ranked.environment, ranked.entitlement, ranked.transaction_id)
            AND ranked.place > 1
        """
    private static let entitlementsStatement = """
        UPDATE entitlements e SET transaction_id = merged.order_transaction_id FROM \([MergedOrder].ids)
        WHERE (e.environment, e.transaction_id) = (merged.environment, merged.transaction_id)
        """
    // The clock works it out anew, should more have changed than the name of its order.
    private static let subscriptionsStatement = """
        UPDATE subscriptions s SET transaction_id = merged.order_transaction_id,
            due_at = CASE WHEN s.due_at IS NOT NULL THEN least(s.due_at, now()) END,
            standing = jsonb_set(s.standing, '{transaction_id}', to_jsonb(merged.order_transaction_id))
        FROM unnest($1::text[], $2::text[], $3::text[], $4::text[])
            AS merged (environment, transaction_id, order_transaction_id, original_transaction_id)
        WHERE (s.environment, s.original_transaction_id, s.transaction_id)
            = (merged.environment, merged.original_transaction_id, merged.transaction_id)
        """

    // MARK: - Revocations

    /// What was taken from accounts because their order was one with another.
    struct Revoked: Sendable {
        /// What an account may use no more, and nothing else gives it.
        struct Lost: Sendable {
            let key: OrderKey
            let customer: Customer
            let isConsent: Bool
            let entitlements: [String]
        }

        /// A subscription that was in another state.
        struct Subscription: Sendable {
            let before: SubscriptionStanding
            let after: SubscriptionStanding
        }

        var lost: [Lost] = []
        var subscriptions: [OrderKey: Subscription] = [:]
    }

    /// Revokes what orders that are revoked still gave, and what a guardian's rescinded consent reaches only now.
    ///
    /// - Throws: `PostgresError`.
    static func revoke(_ merged: [MergedOrder], on connection: PostgresConnection) async throws -> Revoked {
        var revoked = Revoked()
        let causes = merged.map { order -> String? in
            guard order.state == .revoked else { return nil }
            return order.transaction.isFamilyRevoke ? "family_revoke" : "refund"
        }
        for row in try await connection.query(revokeStatement, merged.keyColumns + [.textArray(causes)]).rows {
            revoked.lost.append(
                Revoked.Lost(
                    key: try row.orderKey(), customer: try row.customer(), isConsent: try row.decode("is_consent"),
                    entitlements: try row.decode("entitlements")))
        }
        let orders = merged.filter { $0.state == .revoked }
        let result = try await connection.query(
            subscriptionsRevokeStatement,
            orders.keyColumns + [.textArray(orders.map(\.transaction.originalTransactionId))])
        for row in result.rows {
            revoked.subscriptions[try row.orderKey()] = Revoked.Subscription(
                before: try row.json("before", as: SubscriptionStanding.self),
                after: try row.json("after", as: SubscriptionStanding.self))
        }
        return revoked
    }

    private static let revokeStatement = """
        WITH due AS (
            SELECT e.environment, e.transaction_id, e.app, e.account, e.entitlement, merged.cause,
                e.revoked_at IS NULL AND (e.expires_at IS NULL OR e.expires_at > now()) AS is_usable
            FROM unnest($1::text[], $2::text[], $3::text[]) AS merged (environment, transaction_id, cause)
            JOIN entitlements e USING (environment, transaction_id)
            JOIN orders o USING (environment, transaction_id)
            LEFT JOIN rescinded_consents c ON o.purchase_date <= c.signed_date
                AND (c.environment, c.app, c.app_transaction_id) = (o.environment, o.app, o.app_transaction_id)
            WHERE merged.cause IS NOT NULL OR c.app IS NOT NULL AND e.revoked_at IS NULL
        ), revoked AS (
            UPDATE entitlements e SET revoked_at = coalesce(e.revoked_at, now()),
                revoked_because = coalesce(due.cause, 'consent_rescinded')
            FROM due
            WHERE (e.account, e.app, e.environment, e.entitlement, e.transaction_id)
                = (due.account, due.app, due.environment, due.entitlement, due.transaction_id)
        )
        SELECT environment, transaction_id, app, account, cause IS NULL AS is_consent,
            array_agg(entitlement ORDER BY entitlement) AS entitlements
        FROM due
        WHERE is_usable AND NOT EXISTS (
            SELECT FROM entitlements other
            WHERE (other.account, other.app, other.environment, other.entitlement)
                = (due.account, due.app, due.environment, due.entitlement)
                AND other.revoked_at IS NULL AND (other.expires_at IS NULL OR other.expires_at > now())
                AND (other.environment, other.transaction_id) NOT IN (SELECT environment, transaction_id FROM due))
        GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4
        """

    private static let subscriptionsRevokeStatement = """
        UPDATE subscriptions s SET state = 'revoked', due_at = NULL, changed_at = now(),
            standing = jsonb_set(s.standing, '{state}', '"revoked"')
        FROM (
            SELECT environment, original_transaction_id, transaction_id, standing AS before
            FROM unnest($1::text[], $2::text[], $3::text[])
                AS merged (environment, transaction_id, original_transaction_id)
            JOIN subscriptions USING (environment, original_transaction_id, transaction_id)
            WHERE state <> 'revoked') old
        WHERE (s.environment, s.original_transaction_id) = (old.environment, old.original_transaction_id)
        RETURNING s.environment, s.transaction_id, old.before, s.standing AS after
        """
}
