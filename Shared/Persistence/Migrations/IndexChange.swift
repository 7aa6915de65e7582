import Postgres

/// An index that a migration makes or drops while services run: `CONCURRENTLY`, which no transaction may hold.
///
/// A plain `CREATE INDEX` would keep everybody from writing for as long as it reads the table: minutes without purchases.
/// Each change may have been made before: a migration that was ended goes on where it ended.
package struct IndexChange: Sendable, Hashable {
    /// The index.
    package let name: String
    /// The table and what follows it in `CREATE INDEX name ON`; nil where the index is dropped.
    package let definition: String?

    /// An index to make.
    static func make(_ name: String, on definition: String) -> IndexChange {
        IndexChange(name: name, definition: definition)
    }

    /// An index to drop.
    static func drop(_ name: String) -> IndexChange {
        IndexChange(name: name, definition: nil)
    }

    /// Makes the changes one after the other, each for as long as it takes: an index waits for the transactions that were
    /// there before it.
    ///
    /// - Parameter connection: in no transaction.
    /// - Throws: `PostgresError`; what was done before stays, and is passed over by the next call.
    static func apply(_ changes: [IndexChange], on connection: PostgresConnection) async throws {
        let usual = try await connection.query(
            "SELECT current_setting('statement_timeout') AS statement, current_setting('lock_timeout') AS lock")
        try await connection.executeScript("SET statement_timeout = 0; SET lock_timeout = 0")
        let outcome: Result<Void, any Error>
        do {
            for change in changes { try await change.apply(on: connection) }
            outcome = .success(())
        } catch {
            outcome = .failure(error)
        }
        if let row = usual.rows.first {
            _ = try await connection.query(
                "SELECT set_config('statement_timeout', $1, false), set_config('lock_timeout', $2, false)",
                [.text(try row.decode("statement")), .text(try row.decode("lock"))])
        }
        try outcome.get()
    }

    private func apply(on connection: PostgresConnection) async throws {
        let found = try await connection.query(
            "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass($1)", [.text(name)])
        let isValid = try found.rows.first?.decode("indisvalid", as: Bool.self)
        // One whose making was ended is in the way, and is written to by every purchase, but answers nothing.
        if isValid == false || definition == nil && isValid != nil {
            try await connection.executeScript("DROP INDEX CONCURRENTLY IF EXISTS \(name)")
        }
        guard let definition, isValid != true else { return }
        try await connection.executeScript("CREATE INDEX CONCURRENTLY \(name) ON \(definition)")
    }
}
