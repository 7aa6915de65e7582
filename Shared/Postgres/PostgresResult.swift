/// What a statement gave back.
public struct PostgresResult: Sendable {
    /// The rows, in the server's order.
    public let rows: [PostgresRow]
    /// Rows inserted, updated or deleted; for SELECT and RETURNING, the rows given back.
    public let affectedRows: Int

    static let empty = PostgresResult(rows: [], affectedRows: 0)
}

/// The columns of a result; shared by all results of one prepared statement.
final class ColumnList: Sendable {
    let names: [String]
    let types: [UInt32]
    private let positions: [String: Int]

    init(names: [String], types: [UInt32]) {
        self.names = names
        self.types = types
        // Of two columns with one name the first is the one that is found.
        positions = Dictionary(zip(names, names.indices), uniquingKeysWith: { first, _ in first })
    }

    func position(of name: String) -> Int? { positions[name] }
}

/// The cells of a result, copied out of libpq's memory into one buffer.
final class CellStorage: Sendable {
    let columns: ColumnList
    let bytes: [UInt8]
    /// Where each cell starts, row by row, and where the last one ends.
    let starts: [Int]
    /// Which cells are NULL; empty when none is.
    let nulls: [Bool]

    init(columns: ColumnList, bytes: [UInt8], starts: [Int], nulls: [Bool]) {
        self.columns = columns
        self.bytes = bytes
        self.starts = starts
        self.nulls = nulls
    }
}

/// One row of a result.
public struct PostgresRow: Sendable {
    let storage: CellStorage
    let index: Int

    /// The names of the columns, in order.
    public var columnNames: [String] { storage.columns.names }

    /// The value of a column that must not be NULL.
    ///
    /// - Parameters:
    ///   - column: the column's name; of two with the same name, the first.
    ///   - type: what to decode it as; the column's type must fit (see `PostgresDecodable`).
    /// - Throws: `decodingFailed` when there is no such column, it is NULL, or its type does not fit.
    public func decode<T: PostgresDecodable>(_ column: String, as type: T.Type = T.self) throws(PostgresError) -> T {
        try T.decode(cell(at: position(of: column)), named: column)
    }

    /// The value of a column, or nil when it is NULL.
    ///
    /// - Parameters:
    ///   - column: the column's name; of two with the same name, the first.
    ///   - type: what to decode it as; the column's type must fit (see `PostgresDecodable`).
    /// - Throws: `decodingFailed` when there is no such column, or its type does not fit.
    public func decodeIfPresent<T: PostgresDecodable>(
        _ column: String, as type: T.Type = T.self
    ) throws(PostgresError) -> T? {
        try T?.decode(cell(at: position(of: column)), named: column)
    }

    private func position(of column: String) throws(PostgresError) -> Int {
        guard let position = storage.columns.position(of: column) else {
            throw PostgresError(code: .decodingFailed, reason: "there is no column \(column)")
        }
        return position
    }

    /// The value of the column at a position that exists; nil when it is NULL.
    func cell(at position: Int) -> PostgresCell? {
        let cell = index * storage.columns.names.count + position
        if !storage.nulls.isEmpty, storage.nulls[cell] { return nil }
        return PostgresCell(
            column: storage.columns.names[position], type: storage.columns.types[position],
            bytes: storage.bytes[storage.starts[cell]..<storage.starts[cell + 1]])
    }
}
