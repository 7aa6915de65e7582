import Foundation
import Postgres
import PurchaseModel
import Testing

/// What a history left in the database, without ids of our own and without times of writing.
struct HistoryState: Sendable {
    /// A row of a table by its key, as JSON with sorted keys; the history's prefix is cut out.
    typealias Rows = [String: String]

    private(set) var tables: [String: Rows] = [:]
    /// What each order brought in the end, by item.
    ///
    /// To whom depends on who had its lineage when it came.
    private(set) var nets: [String: [String: Int64]] = [:]
    private(set) var neverGranted: Set<String> = []

    /// How many orders there are: as many as purchases that were told of.
    private(set) var orderCount: Int64 = 0

    /// Reads the rows of a history.
    ///
    /// An order's own id is the one that came first, so every id is read as the purchase's first.
    init(of history: History, _ pool: PostgresPool) async throws {
        for (table, sql) in Self.queries {
            let result = try await pool.query(
                """
                SELECT regexp_replace(replace(key, $2, ''), \(Self.copy), '\\1', 'g') AS key,
                    regexp_replace(replace(row::text, $2, ''), \(Self.copy), '\\1', 'g') AS row
                FROM (\(sql)) AS read (key, row)
                """, [.text(history.app), .text(history.prefix)])
            tables[table] = Dictionary(
                try result.rows.map {
                    (try $0.decode("key", as: String.self), try $0.decode("row", as: String.self))
                }, uniquingKeysWith: { first, second in "\(first) and \(second)" })
        }
        let entries = try await pool.query(
            """
            SELECT regexp_replace(replace(o.environment || ' ' || o.transaction_id, $2, ''), \(Self.copy), '\\1') AS key,
                o.granted_at IS NULL AS ungranted,
                l.item, coalesce(sum(l.amount), 0)::int8 AS net
            FROM orders o LEFT JOIN ledger_entries l USING (environment, transaction_id)
            WHERE o.app = $1 GROUP BY 1, 2, 3
            """, [.text(history.app), .text(history.prefix)])
        orderCount = try await pool.query("SELECT count(*) AS n FROM orders WHERE app = $1", [.text(history.app)])
            .rows[0].decode("n")
        for row in entries.rows {
            let key = try row.decode("key", as: String.self)
            if try row.decode("ungranted", as: Bool.self) { neverGranted.insert(key) }
            let net = try row.decode("net", as: Int64.self)
            if net != 0, let item = try row.decodeIfPresent("item", as: String.self) {
                nets[key, default: [:]][item] = net
            }
        }
    }

    /// The mark of a purchase's further ids, after a digit.
    private static let copy = "'([0-9])x[1-4]'"

    // $1 is the app, $2 the prefix of its ids.
    private static let queries: KeyValuePairs<String, String> = [
        "orders": """
        SELECT environment || ' ' || transaction_id, jsonb_build_object('state', state, 'reason', reason,
            'account', account, 'expires', expires_date, 'revoked', revocation_date,
            'revocation_type', revocation_type, 'percentage', revocation_percentage, 'signed', signed_date,
            'ownership', ownership, 'token', app_account_token, 'price', price_milliunits,
            'type', product_type, 'app_transaction', app_transaction_id,
            'original_purchase_date', original_purchase_date, 'transaction', transaction)
        FROM orders WHERE app = $1
        """,
        // What was taken back before it was granted has no row; what was granted before has one.
        "entitlements": """
        SELECT concat_ws(' ', environment, account, entitlement, transaction_id),
            jsonb_build_object('expires', expires_at)
        FROM entitlements WHERE app = $1 AND revoked_at IS NULL
        """,
        "lineages": """
        SELECT environment || ' ' || original_transaction_id, jsonb_build_object('account', account)
        FROM lineages WHERE app = $1
        """,
        "subscriptions": """
        SELECT environment || ' ' || original_transaction_id,
            to_jsonb(s) - 'changed_at' - 'environment' - 'original_transaction_id'
        FROM subscriptions s WHERE app = $1
        """,
        "renewal_statements": """
        SELECT environment || ' ' || original_transaction_id,
            jsonb_build_object('signed', signed_date, 'statement', statement)
        FROM renewal_statements WHERE original_transaction_id LIKE $2 || '%' AND $1::text IS NOT NULL
        """,
        "rescinded_consents": """
        SELECT concat_ws(' ', environment, customer), jsonb_build_object('signed', signed_date)
        FROM rescinded_consents WHERE app = $1
        """,
        "submissions": """
        SELECT id, jsonb_build_object('unsettled', true) FROM submissions WHERE app = $1 AND state = 'received'
        """,
    ]

    /// What differs, a line each.
    func differences(from other: HistoryState) -> [String] {
        var lines: [String] = []
        for (table, rows) in tables.sorted(by: { $0.key < $1.key }) {
            let others = other.tables[table] ?? [:]
            for key in Set(rows.keys).union(others.keys).sorted() where rows[key] != others[key] {
                lines.append("\(table) \(key): \(Self.difference(rows[key], others[key]))")
            }
        }
        for key in Set(nets.keys).union(other.nets.keys).sorted() where nets[key] != other.nets[key] {
            // What was taken back before it was granted brought nothing; of what was granted before, policy may have
            // left something.
            if neverGranted.contains(key) != other.neverGranted.contains(key) { continue }
            lines.append("net of \(key): \(nets[key] ?? [:]) and \(other.nets[key] ?? [:])")
        }
        return lines
    }

    /// The fields that differ.
    private static func difference(_ first: String?, _ second: String?) -> String {
        guard let first, let second else { return "\(first ?? "no row") and \(second ?? "no row")" }
        guard let one = fields(first), let two = fields(second) else { return "\(first) and \(second)" }
        return Set(one.keys).union(two.keys).sorted().compactMap { name in
            let (left, right) = (one[name] ?? "-", two[name] ?? "-")
            return left == right ? nil : "\(name) \(left) and \(right)"
        }.joined(separator: "; ")
    }

    private static func fields(_ text: String) -> [String: String]? {
        guard let object = try? JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any] else {
            return nil
        }
        var fields: [String: String] = [:]
        for (name, value) in object {
            if let inner = value as? [String: Any] {
                for (key, value) in inner { fields["\(name).\(key)"] = "\(value)" }
            } else {
                fields[name] = "\(value)"
            }
        }
        return fields
    }
}
