/// Which statements a connection has prepared: SQL text to name, the least recently used given up first.
struct StatementCache {
    final class Statement {
        let name: String
        let types: [UInt32]
        /// The result's columns; known after the first execution.
        var columns: ColumnList?
        fileprivate var lastUse: UInt64 = 0

        fileprivate init(name: String, types: [UInt32]) {
            self.name = name
            self.types = types
        }
    }

    let capacity: Int
    private var statements: [String: Statement] = [:]
    private var clock: UInt64 = 0

    init(capacity: Int) {
        self.capacity = max(1, capacity)
    }

    var count: Int { statements.count }

    /// The statement of this text.
    func statement(for sql: String) -> Statement? { statements[sql] }

    /// Notes a use.
    mutating func touch(_ statement: Statement) {
        clock += 1
        statement.lastUse = clock
    }

    /// A statement that is yet to be prepared, under a name that was never used on this connection.
    mutating func makeStatement(types: [UInt32]) -> Statement {
        clock += 1
        let statement = Statement(name: "countersign_\(clock)", types: types)
        statement.lastUse = clock
        return statement
    }

    /// Keeps a prepared statement.
    ///
    /// - Returns: the statement that must be deallocated for it: one with the same text, or the least recently used.
    mutating func insert(_ statement: Statement, for sql: String) -> Statement? {
        if let replaced = statements.updateValue(statement, forKey: sql) { return replaced }
        guard statements.count > capacity else { return nil }
        // Only on overflow, and over a few hundred entries at most, so a scan is cheaper than keeping an order.
        guard let oldest = statements.min(by: { $0.value.lastUse < $1.value.lastUse }) else { return nil }
        return statements.removeValue(forKey: oldest.key)
    }

    /// Forgets a statement that the server no longer has, or has with other columns.
    mutating func remove(_ sql: String) -> Statement? { statements.removeValue(forKey: sql) }
}
