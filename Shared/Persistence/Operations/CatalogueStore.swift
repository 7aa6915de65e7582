package import Postgres

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

    /// The text of a version; nil for one that was never in use.
    ///
    /// - Throws: `PostgresError`.
    package func text(of version: Int64) async throws -> String? {
        let found = try await pool.query("SELECT content FROM catalogues WHERE version = \(version)")
        return try found.rows.first?.decode(String.self)
    }
}
