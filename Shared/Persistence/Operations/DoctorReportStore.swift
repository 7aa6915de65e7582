package import Foundation
package import Postgres

/// One thing that `countersign doctor` looked at.
package struct DoctorRemark: Codable, Sendable, Equatable {
    /// How it is: `good`, `warning` or `wrong`.
    package let level: String
    /// What was looked at.
    package let subject: String
    /// How it is, in a sentence.
    package let detail: String
    /// What to do about it.
    package let remedy: String?

    /// Makes one.
    package init(level: String, subject: String, detail: String, remedy: String?) {
        self.level = level
        self.subject = subject
        self.detail = detail
        self.remedy = remedy
    }
}

/// The table `doctor_findings`: what `countersign doctor` found when it was run last, for people who have no shell.
package struct DoctorReportStore: Sendable {
    let pool: PostgresPool

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Writes what was found in place of those before.
    ///
    /// - Throws: `PostgresError`; `EncodingError`, which does not happen.
    package func write(_ remarks: [DoctorRemark]) async throws {
        let text = String(decoding: try JSONEncoder().encode(remarks), as: UTF8.self)
        _ = try await pool.query(
            """
            INSERT INTO doctor_findings (findings, looked_at) VALUES (\(text)::jsonb, now())
            ON CONFLICT (is_last) DO UPDATE SET findings = EXCLUDED.findings, looked_at = EXCLUDED.looked_at
            """)
    }

    /// What the last run found, and when it was; nil before the first.
    ///
    /// - Throws: `PostgresError`; `DecodingError` for what a newer version wrote and this one cannot read.
    package func last() async throws -> (remarks: [DoctorRemark], lookedAt: Date)? {
        guard
            let row = try await pool.query("SELECT findings::text AS findings, looked_at FROM doctor_findings").rows
                .first
        else { return nil }
        let text: String = try row.decode("findings")
        return (try JSONDecoder().decode([DoctorRemark].self, from: Data(text.utf8)), try row.decode("looked_at"))
    }
}
