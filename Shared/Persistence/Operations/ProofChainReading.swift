package import Foundation
package import Postgres

/// The chains of certificates that genuine proofs came with, for an operator.
package struct ProofChainReading: Sendable {
    /// A chain that is kept once.
    package struct Chain: Sendable, Hashable {
        /// The SHA-256 of the header, in hexadecimal digits.
        package let fingerprint: String
        /// When it was seen first.
        package let createdAt: Date
        /// The header of a JWS: base64url of JSON with `x5c`.
        package let header: String
        /// Proofs that came with it and are still there; nil where nobody counted.
        package let count: Int64?
        package let firstReceivedAt: Date?
        package let lastReceivedAt: Date?
    }

    private let pool: PostgresPool

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// All chains, the newest first.
    ///
    /// - Parameter counts: counts the proofs of each, which reads all proofs.
    /// - Throws: `PostgresError`.
    package func chains(counts: Bool) async throws -> [Chain] {
        let (columns, proofs): (SQL, SQL) =
            counts
            ? (
                "coalesce(c.n, 0) AS count, c.low AS first_received_at, c.high AS last_received_at",
                """
                LEFT JOIN (SELECT header, count(*) AS n, min(received_at) AS low, max(received_at) AS high
                    FROM submission_proofs WHERE header IS NOT NULL GROUP BY header) c ON c.header = h.fingerprint
                """
            )
            : (
                "NULL::bigint AS count, NULL::timestamptz AS first_received_at, NULL::timestamptz AS last_received_at",
                ""
            )
        return try await pool.query(
            """
            SELECT encode(h.fingerprint, 'hex') AS fingerprint, h.created_at, h.header, \(columns)
            FROM proof_headers h \(proofs) ORDER BY h.created_at DESC
            """
        ).map(Chain.init)
    }
}
