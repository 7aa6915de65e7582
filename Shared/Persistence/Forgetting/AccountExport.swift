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
    let app: String
    let account: Account

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
        for section in sections {
            let result = try await pool.query("SELECT count(*) AS count FROM (\(section.sql)) rows")
            let count = try result.map { (count: Int64) in count }.first ?? 0
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
        let found = tables.map { table -> SQL in
            // Notifications are nobody's, and their index has none of them.
            let isSomebodys: SQL = table == "submissions" ? " AND account <> ''" : ""
            return "EXISTS (SELECT FROM \(unescaped: table) WHERE account = \(account) AND app = \(app)\(isSomebodys))"
        }
        let result = try await pool.query("SELECT \(found.joined(separator: " OR ")) AS is_known")
        return try result.map { (isKnown: Bool) in isKnown }.first ?? false
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
        for section in sections {
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
            WHERE \(last) IS NULL OR key COLLATE "C" > \(last) ORDER BY key COLLATE "C" LIMIT \(limit)
            """)
        return try result.map { (key: String, row: String) in (key, row) }
    }

    /// One list.
    struct Section: Sendable {
        let table: String
        /// Its rows, each with a text `key` that no other has.
        let sql: SQL
    }
}
