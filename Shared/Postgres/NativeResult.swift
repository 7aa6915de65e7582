import CLibpq
import Glibc

/// A `PGresult`, freed when it goes out of scope; nothing of it is kept, everything is copied out.
struct NativeResult: ~Copyable {
    private let pointer: OpaquePointer

    init(owning pointer: OpaquePointer) {
        self.pointer = pointer
    }

    deinit { PQclear(pointer) }

    /// How a result ended.
    enum Kind {
        case success, failure, copy
    }

    var kind: Kind {
        switch PQresultStatus(pointer) {
        case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY, PGRES_SINGLE_TUPLE, PGRES_NONFATAL_ERROR: .success
        case PGRES_COPY_IN, PGRES_COPY_OUT, PGRES_COPY_BOTH: .copy
        default: .failure
        }
    }

    /// What the statement did, as the server says it (`COMMIT`, `ROLLBACK`, `INSERT 0 5`).
    var commandTag: String { PQcmdStatus(pointer).map { String(cString: $0) } ?? "" }

    var affectedRows: Int { PQcmdTuples(pointer).map { atol($0) } ?? 0 }

    func field(_ code: ResultField) -> String? {
        PQresultErrorField(pointer, code.rawValue).map { String(cString: $0) }
    }

    /// The parts of an error that the server reports; the letters are those of the protocol (manual, 55.8).
    enum ResultField: Int32 {
        case sqlState = 67  // C
        case message = 77  // M
        case constraint = 110  // n
    }

    /// Copies rows out; the columns are taken over from an earlier execution where one is known.
    func rows(columns known: ColumnList?) -> (rows: [PostgresRow], columns: ColumnList) {
        let columnCount = Int(PQnfields(pointer))
        let columns = known?.names.count == columnCount ? known ?? columnList(columnCount) : columnList(columnCount)
        let rowCount = Int(PQntuples(pointer))
        guard rowCount > 0, columnCount > 0 else { return ([], columns) }
        var total = 0
        var hasNull = false
        var starts: [Int] = []
        starts.reserveCapacity(rowCount * columnCount + 1)
        for row in 0..<Int32(rowCount) {
            for column in 0..<Int32(columnCount) {
                starts.append(total)
                total += Int(PQgetlength(pointer, row, column))
                if !hasNull, PQgetisnull(pointer, row, column) == 1 { hasNull = true }
            }
        }
        starts.append(total)
        let storage = CellStorage(
            columns: columns, bytes: copyCells(rowCount, columnCount, total: total), starts: starts,
            nulls: hasNull ? nullFlags(rowCount, columnCount) : [])
        return ((0..<rowCount).map { PostgresRow(storage: storage, index: $0) }, columns)
    }

    private func copyCells(_ rowCount: Int, _ columnCount: Int, total: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: total) { buffer, initialized in
            var offset = 0
            for row in 0..<Int32(rowCount) {
                for column in 0..<Int32(columnCount) {
                    let length = Int(PQgetlength(pointer, row, column))
                    guard length > 0, let base = buffer.baseAddress, let value = PQgetvalue(pointer, row, column)
                    else { continue }
                    UnsafeMutableRawPointer(base + offset).copyMemory(from: value, byteCount: length)
                    offset += length
                }
            }
            initialized = offset
        }
    }

    private func nullFlags(_ rowCount: Int, _ columnCount: Int) -> [Bool] {
        var flags: [Bool] = []
        flags.reserveCapacity(rowCount * columnCount)
        for row in 0..<Int32(rowCount) {
            for column in 0..<Int32(columnCount) { flags.append(PQgetisnull(pointer, row, column) == 1) }
        }
        return flags
    }

    private func columnList(_ count: Int) -> ColumnList {
        let columns = 0..<Int32(count)
        return ColumnList(
            names: columns.map { PQfname(pointer, $0).map { String(cString: $0) } ?? "" },
            types: columns.map { PQftype(pointer, $0) })
    }
}
