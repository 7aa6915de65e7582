package import Foundation
package import Postgres

/// The table `server_key_uses`: when each server key was used last, to a minute.
package struct ServerKeyUseStore: Sendable {
    /// A key of an app, by nothing that is secret.
    package struct Key: Sendable, Hashable {
        /// The app's bundle id.
        package let app: String
        /// As `ServerKey.fingerprint`.
        package let fingerprint: String

        /// Makes one.
        package init(app: String, fingerprint: String) {
            self.app = app
            self.fingerprint = fingerprint
        }
    }

    let pool: PostgresPool

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Writes uses down; one that another process has seen later stays.
    ///
    /// - Throws: `PostgresError`.
    package func write(_ uses: [Key: Date]) async throws {
        // In one order, so that two processes do not wait for each other.
        let sorted = uses.sorted { ($0.key.app, $0.key.fingerprint) < ($1.key.app, $1.key.fingerprint) }
        _ = try await pool.query(
            """
            INSERT INTO server_key_uses (app, fingerprint, used_at)
            SELECT * FROM unnest(\(sorted.map(\.key.app)), \(sorted.map(\.key.fingerprint)), \(sorted.map(\.value)))
            ON CONFLICT (app, fingerprint) DO UPDATE SET used_at = greatest(server_key_uses.used_at, EXCLUDED.used_at)
            """)
    }

    /// When the keys of an app were used last, by fingerprint; those that were ever used.
    ///
    /// - Throws: `PostgresError`.
    package func uses(app: String) async throws -> [String: Date] {
        let rows = try await pool.query("SELECT fingerprint, used_at FROM server_key_uses WHERE app = \(app)").rows
        return Dictionary(uniqueKeysWithValues: try rows.map { try $0.decode((String, Date).self) })
    }
}
