import Foundation
import Postgres
import ProcessTesting

/// Every row of every table as text, and what can be read out of it, however it is encoded.
struct TableDump: Sendable {
    /// Sorted rows by table; bytes as hexadecimal digits.
    let rows: [String: [String]]

    init(_ pool: PostgresPool) async throws {
        let tables = try await pool.query(
            """
            SELECT relname::text AS name FROM pg_class
            WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
            """)
        var rows: [String: [String]] = [:]
        for table in tables.rows {
            let name: String = try table.decode("name")
            let result = try await pool.query(
                "SELECT to_jsonb(t)::text AS row FROM \"\(unescaped: name)\" t ORDER BY 1")
            rows[name] = try result.rows.map { try $0.decode("row") }
        }
        self.rows = rows
    }

    /// The rows in which a text is found, as `table: row`.
    func places(of text: String) -> [String] {
        rows.sorted { $0.key < $1.key }.flatMap { table, rows in
            rows.filter { Self.holds($0, text) }.map { "\(table): \($0)" }
        }
    }

    /// Rows of a table that hold a text.
    func rows(of table: String, with text: String) -> [String] { rows[table, default: []].filter { $0.contains(text) } }

    /// Whether a text holds another: plainly, escaped as in JSON, in hexadecimal digits, in base64 and base64url, and in base64 within
    /// base64 as Apple's notifications have it.
    static func holds(_ text: String, _ wanted: String, depth: Int = 0) -> Bool {
        let plain = unescaped(text).lowercased()
        let hexadecimal = wanted.utf8.map { String(format: "%02x", $0) }.joined()
        if [wanted.lowercased(), hexadecimal].contains(where: plain.contains) { return true }
        if UUID(uuidString: wanted) != nil, plain.contains(wanted.lowercased().filter { $0 != "-" }) { return true }
        guard depth < 3 else { return false }
        return text.split(whereSeparator: { !isBase64($0) }).contains { part in
            guard part.count >= 8, let data = decoded(part) else { return false }
            return holds(String(decoding: data, as: UTF8.self), wanted, depth: depth + 1)
        }
    }

    // JSON within JSON: an event's body is a text in its row.
    private static func unescaped(_ text: String) -> String {
        var text = text
        for _ in 0..<3 {
            text = text.replacingOccurrences(of: #"\""#, with: "\"").replacingOccurrences(of: #"\\"#, with: #"\"#)
        }
        return text
    }

    private static func isBase64(_ character: Character) -> Bool {
        character.isASCII && (character.isLetter || character.isNumber || "+/-_".contains(character))
    }

    private static func decoded(_ part: Substring) -> Data? {
        let standard = part.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        return Data(base64Encoded: standard + String(repeating: "=", count: (4 - standard.count % 4) % 4))
    }
}

/// PostgreSQL's own dump of a database, where its program is installed.
enum PostgresDump {
    private static let programs = ["/usr/bin/pg_dump", "/usr/lib/postgresql/15/bin/pg_dump"]

    /// - Returns: nil where there is no such program, or it is of another version than the server.
    static func text(_ url: String) async throws -> String? {
        guard let program = programs.first(where: FileManager.default.isExecutableFile) else { return nil }
        let dump = try await Program(
            path: program, arguments: ["--data-only", "--inserts", url], output: .errorsShown
        ).run()
        return dump.isGood ? dump.output : nil
    }
}
