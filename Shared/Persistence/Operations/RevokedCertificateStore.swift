package import Foundation
package import Postgres

/// The table `revoked_certificates`: what a responder has said is revoked.
///
/// Rows are only added; a person takes one out.
package struct RevokedCertificateStore: Sendable {
    enum Limit {
        /// Rows that are read: Apple has used some ten certificates in ten years.
        static let rows: Int64 = 10_000
    }

    /// A certificate that is revoked, with the answer that says so.
    package struct Row: Sendable, Hashable {
        /// The SHA-256 of the certificate.
        package let fingerprint: [UInt8]
        /// The certificate in DER.
        package let certificate: [UInt8]
        /// Since when.
        package let revokedAt: Date
        /// A number of RFC 5280, section 5.3.1; nil where the responder does not say.
        package let reason: Int?
        /// The OCSP response in DER.
        package let answer: [UInt8]

        /// Makes a row.
        package init(fingerprint: [UInt8], certificate: [UInt8], revokedAt: Date, reason: Int?, answer: [UInt8]) {
            self.fingerprint = fingerprint
            self.certificate = certificate
            self.revokedAt = revokedAt
            self.reason = reason
            self.answer = answer
        }
    }

    private let pool: PostgresPool

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Adds a certificate; one that is there stays as it was learnt first.
    ///
    /// - Throws: `PostgresError`.
    package func add(_ row: Row) async throws {
        _ = try await pool.query(
            """
            INSERT INTO revoked_certificates (sha256, certificate, revoked_at, reason, answer)
            VALUES (\(row.fingerprint), \(row.certificate), \(row.revokedAt), \(row.reason.map { Int32(clamping: $0) }),
                \(row.answer)) ON CONFLICT DO NOTHING
            """)
    }

    /// Since when certificates are revoked, by their SHA-256.
    ///
    /// - Throws: `PostgresError`.
    package func all() async throws -> [[UInt8]: Date] {
        let result = try await pool.query(
            "SELECT sha256, revoked_at FROM revoked_certificates ORDER BY learnt_at DESC LIMIT \(Limit.rows)")
        return Dictionary(try result.map { (sha256: [UInt8], date: Date) in (sha256, date) }) { first, _ in first }
    }

    /// How many there are, and how long ago the newest was learnt, in seconds; nil when there is none.
    ///
    /// - Throws: `PostgresError`.
    package func summary() async throws -> (count: Int64, newestSeconds: Double)? {
        let result = try await pool.query(
            """
            SELECT count(*) AS count, extract(epoch FROM now() - max(learnt_at))::float8 AS newest
            FROM revoked_certificates
            """)
        guard case (let count, let newest?)? = try result.rows.first?.decode((Int64, Double?).self) else { return nil }
        return (count, newest)
    }

    /// A certificate that is held for revoked, as a person looks at it.
    package struct Listed: Codable, Sendable, Hashable {
        /// The SHA-256 of the certificate, in hexadecimal digits.
        package let sha256: String
        package let revokedAt: Date
        /// A number of RFC 5280, section 5.3.1.
        package let reason: Int64?
        package let learntAt: Date
    }

    /// All of them, the newest first.
    ///
    /// - Throws: `PostgresError`.
    package func list() async throws -> [Listed] {
        let result = try await pool.query(
            """
            SELECT encode(sha256, 'hex') AS sha256, revoked_at, reason::bigint AS reason, learnt_at
            FROM revoked_certificates ORDER BY learnt_at DESC LIMIT \(Limit.rows)
            """)
        return try result.map(Listed.init)
    }

    /// Takes a certificate out, so that its responder is asked anew, with a row in `audit_log`.
    ///
    /// - Parameter sha256: in hexadecimal digits.
    /// - Returns: the row in `audit_log`; nil where the certificate is not among them.
    /// - Throws: `PostgresError`.
    package func remove(_ sha256: String, actor: String, reason: String) async throws -> Int64? {
        try await pool.withTransaction { connection in
            let removed = try await connection.query(
                "DELETE FROM revoked_certificates WHERE sha256 = decode(\(sha256), 'hex') RETURNING 1 AS one")
            guard !removed.rows.isEmpty else { return nil }
            return try await AuditLog.write(
                "trust_certificate", of: sha256, app: .noApp, actor: actor, reason: reason, on: connection
            ).id
        }
    }
}
