package import Postgres
package import PurchaseModel

/// How many subscriptions there are, and how many begin, go on and end, of one app and environment.
///
/// Days are of Apple's dates, in UTC. A family member's copy is no subscription of its own: nobody pays for it.
package struct SubscriptionFiguresStore: Sendable {
    /// What a row is of.
    package enum Grouping: String, Sendable, CaseIterable {
        case day, month, product

        /// Of `changes`.
        fileprivate var key: SQL {
            switch self {
            case .day: "day::text"
            case .month: "to_char(day, 'YYYY-MM')"
            case .product: "product_id"
            }
        }
    }

    /// Subscriptions of one product that stand alike now.
    package struct StateCount: Sendable, Hashable {
        package let productId: String
        package let state: SubscriptionState
        package let count: Int64
    }

    /// What changed in a day or month, or of a product: `started + returned - ended` is by how many more have access.
    package struct Changes: Sendable, Hashable {
        /// The day, month or product.
        package let key: String
        /// First periods, as far as is known here.
        package let started: Int64
        /// Periods that begin before the one before has ended.
        package let renewed: Int64
        /// Periods that begin after a gap.
        package let returned: Int64
        /// Subscriptions without access since then: over, taken back, or not paid for.
        package let ended: Int64
    }

    private let pool: PostgresPool

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// How many there are, by product and state.
    ///
    /// - Throws: `PostgresError`.
    package func stateCounts(_ app: String, _ environment: StoreEnvironment) async throws -> [StateCount] {
        try await ListLook.read(pool) { connection in
            try await connection.query(
                """
                SELECT product_id, state, count(*) AS count FROM subscriptions
                WHERE app = \(app) AND environment = \(environment) AND standing->>'ownership' IS DISTINCT FROM 'FAMILY_SHARED'
                GROUP BY product_id, state ORDER BY product_id, state
                """
            ).rows.map {
                StateCount(
                    productId: try $0.decode("product_id"), state: try $0.known("state"), count: try $0.decode("count"))
            }
        }
    }

    /// What changed in some days, both ends included, sorted by key.
    ///
    /// - Throws: `PostgresError`.
    package func changes(
        _ app: String, _ environment: StoreEnvironment, from first: RevenueDay, to last: RevenueDay,
        by grouping: Grouping
    ) async throws -> [Changes] {
        try await ListLook.read(pool) { connection in
            try await connection.query(Self.changesStatement(app, environment, first, last, grouping)).rows.map {
                Changes(
                    key: try $0.decode("key"), started: try $0.decode("started"), renewed: try $0.decode("renewed"),
                    returned: try $0.decode("returned"), ended: try $0.decode("ended"))
            }
        }
    }

    /// Periods are orders.
    ///
    /// What ended before a gap is told by the period after it; what has ended since, by the subscription.
    static func changesStatement(
        _ app: String, _ environment: StoreEnvironment, _ first: RevenueDay, _ last: RevenueDay, _ grouping: Grouping
    ) -> SQL {
        let (from, to): (SQL, SQL) = ("\(first.description)::date", "\(last.description)::date")
        let endsIn: SQL = "(ended_at AT TIME ZONE 'UTC')::date BETWEEN \(from) AND \(to)"
        return """
            WITH periods AS MATERIALIZED (
                SELECT (o.purchase_date AT TIME ZONE 'UTC')::date AS day, o.product_id, o.purchase_date,
                    before.product_id AS before_product_id, before.ended_at
                FROM orders o LEFT JOIN LATERAL (
                    SELECT product_id, least(expires_date, revocation_date) AS ended_at FROM orders p
                    WHERE p.original_transaction_id = o.original_transaction_id AND p.environment = o.environment
                        AND p.app = o.app AND p.purchase_date < o.purchase_date
                    ORDER BY p.purchase_date DESC LIMIT 1
                ) before ON true
                WHERE (o.purchase_date AT TIME ZONE 'UTC')::date >= \(from) AND o.app = \(app)
                    AND o.environment = \(environment) AND o.product_type = 'auto_renewable'
                    AND o.ownership IS DISTINCT FROM 'FAMILY_SHARED'
            ), changes AS (
                SELECT day, product_id, (ended_at IS NULL)::int AS started,
                    coalesce(ended_at >= purchase_date, false)::int AS renewed,
                    coalesce(ended_at < purchase_date, false)::int AS returned, 0 AS ended
                FROM periods WHERE day <= \(to)
                UNION ALL
                SELECT (ended_at AT TIME ZONE 'UTC')::date, before_product_id, 0, 0, 0, 1
                FROM periods WHERE ended_at < purchase_date AND \(endsIn)
                UNION ALL
                SELECT (ended_at AT TIME ZONE 'UTC')::date, product_id, 0, 0, 0, 1 FROM (
                    SELECT s.product_id, least(s.access_until, o.revocation_date) AS ended_at
                    FROM subscriptions s LEFT JOIN orders o
                        ON s.state = 'revoked' AND (o.environment, o.transaction_id) = (s.environment, s.transaction_id)
                    WHERE s.app = \(app) AND s.environment = \(environment)
                        AND s.state IN ('expired', 'billing_retry', 'revoked') AND s.access_until >= \(from)
                        AND s.standing->>'ownership' IS DISTINCT FROM 'FAMILY_SHARED'
                ) ended_now WHERE \(endsIn)
            )
            SELECT \(grouping.key) AS key, sum(started)::int8 AS started, sum(renewed)::int8 AS renewed,
                sum(returned)::int8 AS returned, sum(ended)::int8 AS ended
            FROM changes GROUP BY 1 ORDER BY 1
            """
    }
}
