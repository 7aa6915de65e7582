/// What a column of a row can be read as: a ``PostgresDecodable``, or an optional one where NULL occurs.
public protocol PostgresColumn: Sendable {
    /// Reads a column.
    ///
    /// - Parameters:
    ///   - cell: nil where it is NULL.
    ///   - name: of the column, for errors.
    /// - Throws: `decodingFailed`.
    static func decode(_ cell: PostgresCell?, named name: String) throws(PostgresError) -> Self
}

extension PostgresDecodable {
    /// Reads a column that must not be NULL.
    public static func decode(_ cell: PostgresCell?, named name: String) throws(PostgresError) -> Self {
        guard let cell else { throw PostgresError(code: .decodingFailed, reason: "column \(name) is NULL") }
        return try decode(cell)
    }
}

extension Optional: PostgresColumn where Wrapped: PostgresDecodable {
    /// Reads a column in which nil is NULL.
    public static func decode(_ cell: PostgresCell?, named name: String) throws(PostgresError) -> Wrapped? {
        guard let cell else { return nil }
        return try Wrapped.decode(cell)
    }
}

extension PostgresRow {
    /// All columns in their order: `let (id, account) = try row.decode((Int64, String?).self)`.
    ///
    /// - Throws: `decodingFailed` when there are more or fewer columns, one is NULL that must not be, or does not fit.
    public func decode<each Column: PostgresColumn>(
        _ types: (repeat each Column).Type
    ) throws -> (repeat each Column) {
        var reader = ColumnReader(row: self)
        let columns = (repeat try reader.next(as: (each Column).self))
        try reader.finish()
        return columns
    }
}

extension PostgresResult {
    /// A value for each row, of its columns in their order: `result.map(Order.init)`, or a closure that names them.
    ///
    /// - Throws: what `make` throws; `decodingFailed` when there are more or fewer columns than it takes, one is NULL that must
    ///   not be, or does not fit.
    public func map<each Column: PostgresColumn, Value>(
        _ make: (repeat each Column) throws -> Value
    ) throws -> [Value] {
        var values: [Value] = []
        values.reserveCapacity(rows.count)
        for row in rows {
            var reader = ColumnReader(row: row)
            let value = try make(repeat try reader.next(as: (each Column).self))
            try reader.finish()
            assert(!values.isEmpty || reader.fits(value), "\(Value.self) has its columns in another order")
            values.append(value)
        }
        return values
    }
}

/// Reads the columns of a row one after the other.
private struct ColumnReader {
    let row: PostgresRow
    private var position = 0

    init(row: PostgresRow) {
        self.row = row
    }

    mutating func next<Column: PostgresColumn>(as type: Column.Type) throws(PostgresError) -> Column {
        guard position < row.columnNames.count else { throw miscounted() }
        defer { position += 1 }
        return try Column.decode(row.cell(at: position), named: row.columnNames[position])
    }

    /// - Throws: `decodingFailed` where there are columns that nobody has asked for.
    func finish() throws(PostgresError) {
        if position != row.columnNames.count { throw miscounted() }
    }

    private func miscounted() -> PostgresError {
        PostgresError(
            code: .decodingFailed, reason: "there are \(row.columnNames.count) columns, and another number is asked for"
        )
    }

    /// Whether a structure of as many properties as there are columns has them in the same order, by their names.
    ///
    /// Two of one type could else be mistaken for each other. Looked at in debug builds.
    func fits(_ value: Any) -> Bool {
        let mirror = Mirror(reflecting: value)
        guard mirror.displayStyle == .struct, mirror.children.count == position else { return true }
        return zip(mirror.children, row.columnNames).allSatisfy { child, column in
            child.label?.lowercased() == column.replacing("_", with: "").lowercased()
        }
    }
}
