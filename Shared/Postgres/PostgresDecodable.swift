public import Foundation

/// A value that is not NULL, in PostgreSQL's binary format.
public struct PostgresCell: Sendable {
    /// The name of its column, for errors.
    public let column: String
    /// The object id of its type.
    public let type: UInt32
    /// The value, in binary format.
    public let bytes: ArraySlice<UInt8>

    /// The error of a value that does not fit `wanted`; it names the column and the types, never the value.
    public func mismatch(_ wanted: String) -> PostgresError {
        PostgresError(
            code: .decodingFailed, reason: "column \(column) of type \(type) cannot be decoded as \(wanted)")
    }

    /// The value as one big-endian integer, if it has that size.
    func integer<I: FixedWidthInteger>(_ kind: I.Type) -> I? {
        guard bytes.count == MemoryLayout<I>.size else { return nil }
        return bytes.withUnsafeBytes { I(bigEndian: $0.loadUnaligned(as: I.self)) }
    }
}

/// A type that a column can be decoded as.
///
/// Which columns fit: `String` text, varchar, char, name, json, jsonb, uuid · `Int64`, `Int` int2, int4, int8, oid, and
/// numeric without a fraction · `Int32` int2, int4 · `Bool` bool · `Double` float4, float8 · `Date` timestamptz, and
/// timestamp taken as UTC · `UUID` uuid · `[UInt8]` bytea · arrays of these, with optional elements where NULL occurs.
public protocol PostgresDecodable: PostgresColumn {
    /// Decodes a value.
    ///
    /// - Throws: `decodingFailed`, best by `cell.mismatch`.
    static func decode(_ cell: PostgresCell) throws(PostgresError) -> Self
}

/// A type of the program with a raw value, such as an enumeration of words: a value that it does not know is an error.
extension PostgresDecodable where Self: RawRepresentable, RawValue: PostgresDecodable {
    /// Decodes the raw value.
    public static func decode(_ cell: PostgresCell) throws(PostgresError) -> Self {
        guard let value = Self(rawValue: try RawValue.decode(cell)) else {
            throw PostgresError(
                code: .decodingFailed, reason: "\(cell.column) has a value that this program does not know")
        }
        return value
    }
}

extension String: PostgresDecodable {
    /// Decodes text, json, jsonb, or a uuid (in lower case, as PostgreSQL prints it).
    public static func decode(_ cell: PostgresCell) throws(PostgresError) -> String {
        switch cell.type {
        case PostgresType.text, PostgresType.varchar, PostgresType.bpchar, PostgresType.name, PostgresType.char,
            PostgresType.json, PostgresType.unknown:
            guard let text = String(validating: cell.bytes, as: UTF8.self) else { throw cell.mismatch("String") }
            return text
        case PostgresType.jsonb:
            guard cell.bytes.first == JSONBinary.version,
                let text = String(validating: cell.bytes.dropFirst(), as: UTF8.self)
            else { throw cell.mismatch("String") }
            return text
        case PostgresType.uuid:
            return try UUID.decode(cell).uuidString.lowercased()
        default:
            throw cell.mismatch("String")
        }
    }
}

extension Int64: PostgresDecodable {
    /// Decodes int2, int4, int8, oid, or a numeric without a fraction that fits.
    public static func decode(_ cell: PostgresCell) throws(PostgresError) -> Int64 {
        let value: Int64? =
            switch cell.type {
            case PostgresType.int8: cell.integer(Int64.self)
            case PostgresType.int4: cell.integer(Int32.self).map(Int64.init)
            case PostgresType.int2: cell.integer(Int16.self).map(Int64.init)
            case PostgresType.oid: cell.integer(UInt32.self).map(Int64.init)
            case PostgresType.numeric: wholeNumeric(cell.bytes)
            default: nil
            }
        guard let value else { throw cell.mismatch("Int64") }
        return value
    }

    /// A numeric (what `sum(bigint)` gives) as an integer: `numeric_send` writes the count of base-10000 digits, the
    /// weight of the first, the sign, the scale, then the digits.
    ///
    /// Nil for a fraction, NaN, infinity, or overflow.
    private static func wholeNumeric(_ bytes: ArraySlice<UInt8>) -> Int64? {
        func field(_ index: Int) -> Int {
            let start = bytes.startIndex + 2 * index
            return Int(Int16(bitPattern: UInt16(bytes[start]) << 8 | UInt16(bytes[start + 1])))
        }
        let negativeSign = 0x4000
        guard bytes.count >= 8 else { return nil }
        let digits = field(0)
        let weight = field(1)
        let sign = field(2)
        guard digits >= 0, bytes.count == 8 + 2 * digits, sign == 0 || sign == negativeSign, weight <= 4 else {
            return nil
        }
        if digits == 0 { return 0 }
        guard digits <= weight + 1 else { return nil }
        var magnitude: Int64 = 0
        for position in 0...weight {
            let digit = position < digits ? Int64(field(4 + position)) : 0
            let (product, isTooLarge) = magnitude.multipliedReportingOverflow(by: 10_000)
            let (sum, overflow) = product.subtractingReportingOverflow(digit)
            if isTooLarge || overflow { return nil }
            magnitude = sum
        }
        // Summed up as a negative number, which reaches one further than a positive one.
        if sign == negativeSign { return magnitude }
        return magnitude == .min ? nil : -magnitude
    }
}

extension Int: PostgresDecodable {
    /// Decodes what `Int64` decodes.
    public static func decode(_ cell: PostgresCell) throws(PostgresError) -> Int {
        guard let value = Int(exactly: try Int64.decode(cell)) else { throw cell.mismatch("Int") }
        return value
    }
}

extension Int32: PostgresDecodable {
    /// Decodes int2 or int4.
    public static func decode(_ cell: PostgresCell) throws(PostgresError) -> Int32 {
        let value: Int32? =
            switch cell.type {
            case PostgresType.int4: cell.integer(Int32.self)
            case PostgresType.int2: cell.integer(Int16.self).map(Int32.init)
            default: nil
            }
        guard let value else { throw cell.mismatch("Int32") }
        return value
    }
}

extension Bool: PostgresDecodable {
    /// Decodes bool.
    public static func decode(_ cell: PostgresCell) throws(PostgresError) -> Bool {
        guard cell.type == PostgresType.bool, let value = cell.integer(UInt8.self) else { throw cell.mismatch("Bool") }
        return value != 0
    }
}

extension Double: PostgresDecodable {
    /// Decodes float4 or float8.
    public static func decode(_ cell: PostgresCell) throws(PostgresError) -> Double {
        let value: Double? =
            switch cell.type {
            case PostgresType.float8: cell.integer(UInt64.self).map(Double.init(bitPattern:))
            case PostgresType.float4: cell.integer(UInt32.self).map { Double(Float(bitPattern: $0)) }
            default: nil
            }
        guard let value else { throw cell.mismatch("Double") }
        return value
    }
}

extension Date: PostgresDecodable {
    /// Decodes timestamptz, or timestamp taken as UTC; infinity is refused, since no `Date` means it.
    public static func decode(_ cell: PostgresCell) throws(PostgresError) -> Date {
        guard cell.type == PostgresType.timestamptz || cell.type == PostgresType.timestamp,
            let microseconds = cell.integer(Int64.self), microseconds != .max, microseconds != .min
        else { throw cell.mismatch("Date") }
        let (sinceReference, overflow) = microseconds.subtractingReportingOverflow(Date.postgresEpochDifference)
        if overflow { throw cell.mismatch("Date") }
        return Date(timeIntervalSinceReferenceDate: Double(sinceReference) / 1_000_000)
    }
}

extension UUID: PostgresDecodable {
    /// Decodes uuid.
    public static func decode(_ cell: PostgresCell) throws(PostgresError) -> UUID {
        guard cell.type == PostgresType.uuid, cell.bytes.count == 16 else { throw cell.mismatch("UUID") }
        return cell.bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }
}
