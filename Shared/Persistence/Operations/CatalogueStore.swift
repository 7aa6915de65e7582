package import Foundation
package import Postgres
package import PurchaseModel

/// The table `catalogues`: every catalogue that was in use, numbered.
package struct CatalogueStore: Sendable {
    private let pool: PostgresPool

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// The version of a catalogue's text; the same text has the same version, whoever asks first.
    ///
    /// - Throws: `PostgresError`.
    package func version(of text: String) async throws -> Int64 {
        let content = SQL.once(text)
        // Twice at most: when another process inserts between the two statements, the second round finds its row.
        for _ in 0..<2 {
            let found = try await pool.query(
                """
                WITH added AS (
                    INSERT INTO catalogues (sha256, content)
                    SELECT encode(sha256(convert_to(\(content), 'UTF8')), 'hex'), \(content)
                    WHERE NOT EXISTS (
                        SELECT FROM catalogues WHERE sha256 = encode(sha256(convert_to(\(content), 'UTF8')), 'hex'))
                    ON CONFLICT DO NOTHING RETURNING version)
                SELECT version FROM added
                UNION ALL SELECT version FROM catalogues WHERE sha256 = encode(sha256(convert_to(\(content), 'UTF8')), 'hex')
                """)
            if let row = found.rows.first { return try row.decode(Int64.self) }
        }
        throw PostgresError(code: .decodingFailed, reason: "a catalogue has no version after it was written")
    }

    /// The text of the catalogue by which an app's newest order was decided, or else of the one that was new last; nil before
    /// the first.
    ///
    /// - Throws: `PostgresError`.
    package func newest(app: String) async throws -> String? {
        let found = try await pool.query(
            """
            SELECT content FROM catalogues WHERE version = coalesce(
                (SELECT catalogue_version FROM orders WHERE app = \(app) AND environment = 'production'
                    ORDER BY created_at DESC LIMIT 1),
                (SELECT max(version) FROM catalogues))
            """)
        return try found.rows.first?.decode(String.self)
    }

    package enum Limit {
        /// Orders of an app of which it is counted which version decided them: the newest.
        package static let orders = 10_000
    }

    /// A catalogue that was in use.
    package struct Version: Sendable, Hashable {
        package let number: Int64
        /// When a process first used it.
        package let loadedAt: Date
    }

    /// Orders of a product that one version decided.
    package struct Sold: Sendable, Hashable {
        package let version: Int64
        package let productId: String
        package let orders: Int64
        /// When the newest of them was recorded.
        package let newest: Date
    }

    /// The versions, the newest first.
    ///
    /// - Throws: `PostgresError`.
    package func versions(_ limit: Int) async throws -> [Version] {
        try await pool.query("SELECT version, loaded_at FROM catalogues ORDER BY version DESC LIMIT \(limit)").rows.map
        {
            Version(number: try $0.decode("version"), loadedAt: try $0.decode("loaded_at"))
        }
    }

    /// The number and text of the catalogue by which an app's newest order of an environment was decided, or else of the
    /// one that was new last; nil before the first.
    ///
    /// - Throws: `PostgresError`.
    package func newest(
        app: String, _ environment: StoreEnvironment
    ) async throws -> (version: Int64, content: String)? {
        let found = try await pool.query(
            """
            SELECT version, content FROM catalogues WHERE version = coalesce(
                (SELECT catalogue_version FROM orders WHERE app = \(app) AND environment = \(environment)
                    ORDER BY created_at DESC, transaction_id DESC LIMIT 1),
                (SELECT max(version) FROM catalogues))
            """)
        return try found.rows.first.map { (version: try $0.decode("version"), content: try $0.decode("content")) }
    }

    /// What the newest ``Limit/orders`` of an app were decided by, by version and product.
    ///
    /// - Throws: `PostgresError`.
    package func sold(app: String, _ environment: StoreEnvironment) async throws -> [Sold] {
        try await ListLook.read(pool) { connection in
            try await connection.query(
                """
                SELECT catalogue_version, product_id, count(*) AS orders, max(created_at) AS newest FROM (
                    SELECT catalogue_version, product_id, created_at FROM orders
                    WHERE app = \(app) AND environment = \(environment)
                    ORDER BY created_at DESC, transaction_id DESC LIMIT \(unescaped: "\(Limit.orders)")) newest
                WHERE catalogue_version IS NOT NULL
                GROUP BY catalogue_version, product_id ORDER BY catalogue_version DESC, product_id
                """
            ).rows.map {
                Sold(
                    version: try $0.decode("catalogue_version"), productId: try $0.decode("product_id"),
                    orders: try $0.decode("orders"), newest: try $0.decode("newest"))
            }
        }
    }

    /// The text of a version; nil for one that was never in use.
    ///
    /// - Throws: `PostgresError`.
    package func text(of version: Int64) async throws -> String? {
        let found = try await pool.query("SELECT content FROM catalogues WHERE version = \(version)")
        return try found.rows.first?.decode(String.self)
    }
}
