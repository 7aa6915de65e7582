package import Foundation
import Messages
package import Postgres
import PurchaseModel

/// The tables `imports` and `import_lines`: files from older systems, how far each has come, and what its lines say.
package struct ImportStore: Sendable {
    let pool: PostgresPool

    /// Works on the database of a pool.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// A file that is imported, or was.
    package struct Import: Sendable {
        package let id: Int64
        package let app: String
        /// The file's name.
        package let source: String
        /// How many of its lines are done with.
        package let linesDone: Int64
        package let startedAt: Date
        /// When its last line was read; nil before.
        package let finishedAt: Date?
    }

    /// What a line of a file says, and what became of it.
    package struct Line: Sendable {
        /// From 1.
        package let number: Int64
        package let content: Content

        /// Makes one.
        package init(number: Int64, content: Content) {
            self.number = number
            self.content = content
        }

        package enum Content: Sendable {
            /// It was posted.
            case posted(submissionId: String, Claim)
            /// It was not, and why: a word for programs, and a sentence.
            case refused(flaw: String, detail: String)
        }
    }

    /// What the older system says of a purchase, as far as it says it.
    package struct Claim: Sendable, Hashable {
        package var transactionId: String?
        package var productId: String?
        package var quantity: Int32?
        /// What it credited, by item.
        package var items: [String: Int64]?
        /// Whether it granted anything.
        package var isGranted = true

        /// Says nothing.
        package init() {}
    }

    /// The import of a file: begun now, or before.
    ///
    /// - Parameter fingerprint: of what is in the file and of how it is read.
    /// - Throws: `PostgresError`.
    package func begin(
        app: String, source: String, fingerprint: [UInt8], actor: String, reason: String
    ) async throws -> Import {
        try await pool.withTransaction { connection in
            try await Self.begin(
                app: app, source: source, fingerprint: fingerprint, actor: actor, reason: reason, on: connection)
        }
    }

    @inline(never)
    private static func begin(
        app: String, source: String, fingerprint: [UInt8], actor: String, reason: String,
        on connection: PostgresConnection
    ) async throws -> Import {
        let known = try await connection.query(
            "SELECT \(columns) FROM imports WHERE app = \(app) AND fingerprint = \(fingerprint)")
        if let known = try known.map(Import.init).first { return known }
        let line = try await AuditLog.write(
            "import", of: "\(app) \(source)", app: .named(app), actor: actor, reason: reason, on: connection)
        let made = try await connection.query(
            """
            INSERT INTO imports (app, source, fingerprint, audit_id) VALUES (\(app), \(source), \(fingerprint), \(line.id))
            ON CONFLICT ON CONSTRAINT imports_read_a_file_once DO NOTHING RETURNING \(columns)
            """)
        guard let new = try made.map(Import.init).first else {
            throw PostgresError(
                code: .statementFailed, reason: "another process began the same import meanwhile", sqlState: "40001")
        }
        return new
    }

    /// Imports, the newest first.
    ///
    /// - Throws: `PostgresError`.
    package func imports(app: String? = nil, limit: Int = 100) async throws -> [Import] {
        let result = try await pool.query(
            "SELECT \(Self.columns) FROM imports WHERE \(app) IS NULL OR app = \(app) ORDER BY id DESC LIMIT \(limit)")
        return try result.map(Import.init)
    }

    /// An import by its number; nil where there is none.
    ///
    /// - Throws: `PostgresError`.
    package func find(_ id: Int64) async throws -> Import? {
        let result = try await pool.query("SELECT \(Self.columns) FROM imports WHERE id = \(id)")
        return try result.map(Import.init).first
    }

    /// Writes down lines that are done with, and how far the import has come with them, in one transaction.
    ///
    /// - Parameters:
    ///   - end: the line of the file with which they end.
    ///   - done: how far it had come.
    ///   - isLast: whether the file has no more.
    /// - Returns: false where another process has come further meanwhile; then nothing is written.
    /// - Throws: `PostgresError`.
    package func record(
        _ lines: [Line], through end: Int64, of id: Int64, after done: Int64, isLast: Bool
    ) async throws -> Bool {
        let columns = try Self.columns(of: lines)
        return try await pool.withTransaction { connection in
            try await Self.record(columns, through: end, of: id, after: done, isLast, on: connection)
        }
    }

    @inline(never)
    private static func record(
        _ columns: SQL, through end: Int64, of id: Int64, after done: Int64, _ isLast: Bool,
        on connection: PostgresConnection
    ) async throws -> Bool {
        let moved = try await connection.query(
            """
            UPDATE imports SET lines_done = \(end), finished_at = CASE WHEN \(isLast) THEN coalesce(finished_at, now()) END
            WHERE id = \(id) AND lines_done = \(done) RETURNING id
            """)
        guard !moved.rows.isEmpty else { return false }
        _ = try await connection.query(
            """
            INSERT INTO import_lines (import_id, line, submission_id, flaw, detail, transaction_id, product_id, quantity,
                items, is_granted)
            SELECT \(id), * FROM unnest(\(columns))
            """)
        return true
    }

    /// Lines as columns of `import_lines`, from the second on.
    private static func columns(of lines: [Line]) throws -> SQL {
        let claims = lines.map { if case .posted(_, let claim) = $0.content { claim } else { Claim() } }
        let ids: [String?] = lines.map { if case .posted(let id, _) = $0.content { id } else { nil } }
        let flaws: [String?] = lines.map { if case .refused(let flaw, _) = $0.content { flaw } else { nil } }
        let details: [String?] = lines.map { if case .refused(_, let detail) = $0.content { detail } else { nil } }
        let items = try claims.map { claim in
            try claim.items.map { String(decoding: try MessageCoding.encode($0), as: UTF8.self) }
        }
        return """
            \(lines.map(\.number)), \(ids), \(flaws), \(details), \(claims.map(\.transactionId)),
                \(claims.map(\.productId)), \(claims.map(\.quantity)), \(json: items), \(claims.map(\.isGranted))
            """
    }

    /// Those of these submissions that have no outcome yet.
    ///
    /// - Throws: `PostgresError`.
    package func unsettled(of submissionIds: [String]) async throws -> Set<String> {
        guard !submissionIds.isEmpty else { return [] }
        let result = try await pool.query(
            "SELECT id FROM submissions WHERE id = ANY(\(submissionIds)) AND state = 'received'")
        return Set(try result.map { (id: String) in id })
    }

    /// How many submissions of an import have no outcome yet.
    ///
    /// - Throws: `PostgresError`.
    package func unsettledCount(of id: Int64) async throws -> Int64 {
        let result = try await pool.query(
            """
            SELECT count(DISTINCT s.id) AS count FROM import_lines l JOIN submissions s ON s.id = l.submission_id
            WHERE l.import_id = \(id) AND s.state = 'received'
            """)
        return try result.rows.first?.decode(Int64.self) ?? 0
    }

    private static let columns: SQL = "id, app, source, lines_done, started_at, finished_at"
}
