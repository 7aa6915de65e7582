public import Foundation

/// A type whose Swift array a column can be decoded as: an array column, or for `UInt8` a bytea.
public protocol PostgresArrayElement: Sendable {
    /// Decodes all elements.
    ///
    /// - Throws: `decodingFailed`.
    static func decodeArray(_ cell: PostgresCell) throws(PostgresError) -> [Self]
}

extension Array: PostgresDecodable, PostgresColumn where Element: PostgresArrayElement {
    /// Decodes an array of one dimension, or an empty one; for `[UInt8]`, a bytea.
    public static func decode(_ cell: PostgresCell) throws(PostgresError) -> [Element] {
        try Element.decodeArray(cell)
    }
}

extension UInt8: PostgresArrayElement {
    /// Decodes a bytea.
    public static func decodeArray(_ cell: PostgresCell) throws(PostgresError) -> [UInt8] {
        guard cell.type == PostgresType.bytea else { throw cell.mismatch("[UInt8]") }
        return Array(cell.bytes)
    }
}

extension PostgresArrayElement where Self: PostgresDecodable {
    /// Decodes an array without NULLs.
    public static func decodeArray(_ cell: PostgresCell) throws(PostgresError) -> [Self] {
        var reader = try ArrayReader(cell)
        var values: [Self] = []
        values.reserveCapacity(reader.remaining)
        while reader.remaining > 0 {
            guard let element = try reader.next() else { throw cell.mismatch("an array without NULLs") }
            values.append(try Self.decode(element))
        }
        return values
    }
}

extension Optional: PostgresArrayElement where Wrapped: PostgresArrayElement & PostgresDecodable {
    /// Decodes an array in which NULLs are nil.
    public static func decodeArray(_ cell: PostgresCell) throws(PostgresError) -> [Wrapped?] {
        var reader = try ArrayReader(cell)
        var values: [Wrapped?] = []
        values.reserveCapacity(reader.remaining)
        while reader.remaining > 0 {
            guard let element = try reader.next() else {
                values.append(nil)
                continue
            }
            values.append(try Wrapped.decode(element))
        }
        return values
    }
}

extension String: PostgresArrayElement {}
extension Int64: PostgresArrayElement {}
extension Int32: PostgresArrayElement {}
extension Int: PostgresArrayElement {}
extension Bool: PostgresArrayElement {}
extension Double: PostgresArrayElement {}
extension Date: PostgresArrayElement {}
extension UUID: PostgresArrayElement {}
/// So that `[[UInt8]]` decodes a `bytea[]`.
extension [UInt8]: PostgresArrayElement {}

/// Walks over the elements of an array in the format of `array_send`; never reads outside the cell.
private struct ArrayReader {
    /// The built-in element types that something of ours decodes; another array is refused.
    private static let elementTypes: Set<UInt32> = [
        PostgresType.bool, PostgresType.bytea, PostgresType.char, PostgresType.name, PostgresType.int8,
        PostgresType.int2, PostgresType.int4, PostgresType.text, PostgresType.oid, PostgresType.json,
        PostgresType.float4, PostgresType.float8, PostgresType.bpchar, PostgresType.varchar,
        PostgresType.timestamp, PostgresType.timestamptz, PostgresType.numeric, PostgresType.uuid,
        PostgresType.jsonb,
    ]
    /// The array types of `elementTypes`; a scalar that happens to look like an array must not be read as one.
    private static let arrayTypes: Set<UInt32> = [
        199, 1000, 1001, 1002, 1003, 1005, 1007, 1009, 1014, 1015, 1016, 1021, 1022, 1028, 1115, 1185, 1231, 2951,
        3807,
    ]

    private let cell: PostgresCell
    private var rest: ArraySlice<UInt8>
    private var elementType: UInt32 = 0
    private(set) var remaining = 0

    init(_ cell: PostgresCell) throws(PostgresError) {
        self.cell = cell
        rest = cell.bytes
        guard Self.arrayTypes.contains(cell.type) else { throw cell.mismatch("an array") }
        let dimensions = try number()
        _ = try number()
        elementType = UInt32(bitPattern: try number())
        guard dimensions == 0 || dimensions == 1, Self.elementTypes.contains(elementType) else {
            throw cell.mismatch("an array of one dimension")
        }
        if dimensions == 1 {
            let count = Int(try number())
            _ = try number()
            // Each element takes at least its length's four bytes.
            guard count >= 0, count <= rest.count / 4 else { throw cell.mismatch("an array") }
            remaining = count
        }
    }

    /// The next element; nil when it is NULL.
    mutating func next() throws(PostgresError) -> PostgresCell? {
        remaining -= 1
        let length = Int(try number())
        if length == -1 { return nil }
        guard length >= 0, length <= rest.count else { throw cell.mismatch("an array") }
        let bytes = rest.prefix(length)
        rest = rest.dropFirst(length)
        return PostgresCell(column: cell.column, type: elementType, bytes: bytes)
    }

    private mutating func number() throws(PostgresError) -> Int32 {
        guard rest.count >= 4 else { throw cell.mismatch("an array") }
        let value = rest.withUnsafeBytes { Int32(bigEndian: $0.loadUnaligned(as: Int32.self)) }
        rest = rest.dropFirst(4)
        return value
    }
}
