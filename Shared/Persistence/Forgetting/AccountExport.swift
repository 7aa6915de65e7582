package import Foundation
import Messages
package import Postgres
package import PurchaseModel

/// All that is known of an account of an app, as one JSON object, written a page at a time.
///
/// After `schema_version`, `app`, `account` and `exported_at` come lists named for their tables, always all of them and in this order,
/// each sorted by its own key. Other accounts are not named. Pages are read one after the other: what is written meanwhile may
/// be in a later list and not in an earlier one.
package struct AccountExport: Sendable {
    /// The date of this shape; it grows only by members.
    package static let schemaVersion = "2026-11-23"

    package enum Limit {
        /// Rows of a page; of submissions, which may have a receipt of some megabytes each, ``proofs``.
        static let rows = 500
        static let proofs = 10
    }

    private let pool: PostgresPool
    private let app: String
    private let account: Account

    /// Exports from the database of a pool.
    package init(pool: PostgresPool, app: String, account: Account) {
        self.pool = pool
        self.app = app
        self.account = account
    }

    /// How many rows name the account, by table; empty where nothing is known of it.
    ///
    /// Some tables are read whole.
    ///
    /// - Throws: `PostgresError`.
    package func counts() async throws -> [(table: String, count: Int64)] {
        var counts: [(table: String, count: Int64)] = []
        for section in Self.sections {
            let result = try await pool.query(
                "SELECT count(*) AS count FROM (\(section.sql)) rows", [.text(account.text), .text(app)])
            let count: Int64 = try result.rows.first?.decode("count") ?? 0
            if count > 0 { counts.append((section.table, count)) }
        }
        return counts
    }

    /// Whether anything is known of it; asked by indexes only.
    ///
    /// - Throws: `PostgresError`.
    package func isKnown() async throws -> Bool {
        let tables = [
            "submissions", "orders", "account_tokens", "purchase_intents", "events", "balances", "entitlements",
            "spends",
            "lineage_shares", "subscriptions", "account_consents",
        ]
        let found = tables.map { table in
            // Notifications are nobody's, and their index has none of them.
            let isSomebodys = table == "submissions" ? " AND account <> ''" : ""
            return "EXISTS (SELECT FROM \(table) WHERE account = $1 AND app = $2\(isSomebodys))"
        }
        let result = try await pool.query(
            "SELECT \(found.joined(separator: " OR ")) AS is_known", [.text(account.text), .text(app)])
        return try result.rows.first?.decode("is_known") ?? false
    }

    /// Writes the object, in parts of a page each.
    ///
    /// - Parameters:
    ///   - now: when it is written.
    ///   - write: takes the next part.
    /// - Throws: `PostgresError`, and what `write` throws.
    @inline(never)
    package func write(at now: Date = Date(), to write: (String) async throws -> Void) async throws {
        func json(_ text: String) throws -> String { String(decoding: try MessageCoding.encode(text), as: UTF8.self) }
        try await write(
            """
            {"schema_version":\(try json(Self.schemaVersion)),"app":\(try json(app)),\
            "account":\(try json(account.text)),"exported_at":\(try json(MessageCoding.text(now)))
            """)
        for section in Self.sections {
            try await write(",\n\"\(section.table)\":[")
            var last: String?
            while true {
                let page = try await page(of: section, after: last)
                guard let end = page.last else { break }
                try await write((last == nil ? "\n" : ",\n") + page.map(\.row).joined(separator: ",\n"))
                last = end.key
            }
            try await write("]")
        }
        try await write("}\n")
    }

    private func page(of section: Section, after last: String?) async throws -> [(key: String, row: String)] {
        let limit = section.table == "submissions" ? Limit.proofs : Limit.rows
        let result = try await pool.query(
            """
            SELECT key, jsonb_strip_nulls(to_jsonb(rows) - 'key')::text AS row FROM (\(section.sql)) rows
            WHERE $3::text IS NULL OR key COLLATE "C" > $3 ORDER BY key COLLATE "C" LIMIT $4
            """, [.text(account.text), .text(app), .text(last), .int8(Int64(limit))])
        return try result.rows.map { (try $0.decode("key"), try $0.decode("row")) }
    }

    /// One list.
    struct Section: Sendable {
        let table: String
        /// Its rows, each with a text `key` that no other has; `$1` is the account, `$2` the app.
        let sql: String
    }
}
