import Postgres

/// What precedes the division by month of a database with rows: the tables as they are shall become first partitions
/// without anybody reading their rows under a lock.
///
/// PostgreSQL reads a table that is attached, unless a constraint says already that its rows fit. The constraint is
/// added unchecked, which takes a moment, and checked beside running services, which takes as long as reading the
/// tables. It holds for new rows at once, so it ends ``daysAhead`` days after it was made, at the least.
///
/// Source: PostgreSQL 15, "Table Partitioning" (5.11.2.2) and `ALTER TABLE … VALIDATE CONSTRAINT`.
enum FirstPartition {
    /// For how long an upgrade that was ended may lie before events are refused; going on with it starts them anew.
    static let daysAhead = 62

    private static let tables = [(name: "events", key: "id"), (name: "webhook_deliveries", key: "event_id")]

    /// Makes and checks the constraints; what a call before has made is left.
    ///
    /// - Parameters:
    ///   - connection: in no transaction.
    ///   - report: is called when a lock is waited for.
    /// - Throws: `PostgresError`; then what is there stays, and the next call goes on with it.
    static func prepare(
        on connection: PostgresConnection, report: LockWait.Report = { _ in }
    ) async throws {
        // Both ends are one, or a delivery would have no event some day.
        let now = try await connection.query(
            """
            SELECT floor(extract(epoch FROM (date_trunc('month', now() AT TIME ZONE 'UTC' + \(daysAhead) * interval '1 day')
                + interval '1 month') AT TIME ZONE 'UTC') * 1000)::int8 AS ends,
                EXISTS (SELECT FROM events) OR EXISTS (SELECT FROM webhook_deliveries) AS is_used
            """)
        guard let row = now.rows.first, try row.decode("is_used", as: Bool.self) else { return }
        let digits = String(try row.decode("ends", as: Int64.self), radix: 16)
        let end = "evt_" + String(repeating: "0", count: max(0, 12 - digits.count)) + digits
        try await LockWait.retrying(report: report) {
            try await connection.executeScript(
                "BEGIN; SET LOCAL lock_timeout = '\(LockWait.patience)';\n"
                    + tables.map { table in
                        """
                        ALTER TABLE \(table.name) DROP CONSTRAINT IF EXISTS \(table.name)_first_bound,
                            ADD CONSTRAINT \(table.name)_first_bound CHECK (\(table.key) < '\(end)') NOT VALID;
                        """
                    }.joined(separator: "\n") + "\nCOMMIT")
        } undo: {
            try await connection.executeScript("ROLLBACK")
        }
        try await connection.executeScript("SET statement_timeout = 0")
        for table in tables {
            try await connection.executeScript(
                "ALTER TABLE \(table.name) VALIDATE CONSTRAINT \(table.name)_first_bound")
        }
        try await connection.executeScript("RESET statement_timeout")
    }
}
