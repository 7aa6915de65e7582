// The members that a type has because of the protocol say nothing that the protocol does not.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

public import Foundation

/// A value that a statement can be given, in PostgreSQL's binary format (the `*_recv` functions of the server's
/// `src/backend/utils/adt`): everything big-endian, text as UTF-8.
///
/// What they are sent as: `String` text · `Int64`, `Int` int8 · `Int32` int4 · `Bool` bool · `Date` timestamptz · `Duration`
/// interval · `UUID` uuid · `[UInt8]` bytea · a type with a raw value as that. An array of them is an array.
public protocol PostgresEncodable: Sendable {
    /// The object id of its type.
    static var postgresType: UInt32 { get }
    /// The object id of the type's arrays.
    static var postgresArrayType: UInt32 { get }
    /// The bytes that ``writePostgres(to:)`` writes.
    var postgresByteCount: Int { get }
    /// Writes exactly ``postgresByteCount`` bytes.
    func writePostgres(to destination: UnsafeMutableRawPointer)
    /// An array as a parameter. A requirement, so that each type has a loop of its own that knows the type.
    static func postgresArray(_ values: [Self]) -> PostgresValue
    /// An array as a parameter, in which nil is NULL.
    static func postgresArray(_ values: [Self?]) -> PostgresValue
}

extension PostgresEncodable {
    public static func postgresArray(_ values: [Self]) -> PostgresValue { .array(values) { $0 } }
    public static func postgresArray(_ values: [Self?]) -> PostgresValue { .array(values) { $0 } }
}

/// A type of the program with a raw value, such as an enumeration of words: it is sent as its raw value.
extension PostgresEncodable where Self: RawRepresentable, RawValue: PostgresEncodable {
    public static var postgresType: UInt32 { RawValue.postgresType }
    public static var postgresArrayType: UInt32 { RawValue.postgresArrayType }
    public var postgresByteCount: Int { rawValue.postgresByteCount }
    public func writePostgres(to destination: UnsafeMutableRawPointer) { rawValue.writePostgres(to: destination) }
    public static func postgresArray(_ values: [Self]) -> PostgresValue {
        // In a generic type a key path is an object that is made each time.
        RawValue.postgresArray(values.map { $0.rawValue })
    }
    public static func postgresArray(_ values: [Self?]) -> PostgresValue {
        RawValue.postgresArray(values.map { $0?.rawValue })
    }
}

extension Int64: PostgresEncodable {
    public static var postgresType: UInt32 { PostgresType.int8 }
    public static var postgresArrayType: UInt32 { PostgresType.int8Array }
    public var postgresByteCount: Int { 8 }

    @inline(__always)
    public func writePostgres(to destination: UnsafeMutableRawPointer) {
        destination.storeBytes(of: bigEndian, as: Int64.self)
    }
}

/// Sent as `int8`.
extension Int: PostgresEncodable {
    public static var postgresType: UInt32 { PostgresType.int8 }
    public static var postgresArrayType: UInt32 { PostgresType.int8Array }
    public var postgresByteCount: Int { 8 }

    @inline(__always)
    public func writePostgres(to destination: UnsafeMutableRawPointer) {
        Int64(self).writePostgres(to: destination)
    }
}

extension Int32: PostgresEncodable {
    public static var postgresType: UInt32 { PostgresType.int4 }
    public static var postgresArrayType: UInt32 { PostgresType.int4Array }
    public var postgresByteCount: Int { 4 }

    @inline(__always)
    public func writePostgres(to destination: UnsafeMutableRawPointer) {
        destination.storeBytes(of: bigEndian, as: Int32.self)
    }
}

extension Bool: PostgresEncodable {
    public static var postgresType: UInt32 { PostgresType.bool }
    public static var postgresArrayType: UInt32 { PostgresType.boolArray }
    public var postgresByteCount: Int { 1 }

    @inline(__always)
    public func writePostgres(to destination: UnsafeMutableRawPointer) {
        destination.storeBytes(of: self ? 1 : 0, as: UInt8.self)
    }
}

extension UUID: PostgresEncodable {
    public static var postgresType: UInt32 { PostgresType.uuid }
    public static var postgresArrayType: UInt32 { PostgresType.uuidArray }
    public var postgresByteCount: Int { 16 }

    @inline(__always)
    public func writePostgres(to destination: UnsafeMutableRawPointer) {
        withUnsafeBytes(of: uuid) { UnsafeMutableRawBufferPointer(start: destination, count: 16).copyMemory(from: $0) }
    }
}

extension String: PostgresEncodable {
    public static var postgresType: UInt32 { PostgresType.text }
    public static var postgresArrayType: UInt32 { PostgresType.textArray }
    public var postgresByteCount: Int { utf8.count }

    @inline(__always)
    public func writePostgres(to destination: UnsafeMutableRawPointer) {
        let copied: Void? = utf8.withContiguousStorageIfAvailable {
            UnsafeMutableRawBufferPointer(start: destination, count: $0.count).copyMemory(
                from: UnsafeRawBufferPointer($0))
        }
        if copied == nil { Array(utf8).writePostgres(to: destination) }
    }
}

extension [UInt8]: PostgresEncodable {
    public static var postgresType: UInt32 { PostgresType.bytea }
    public static var postgresArrayType: UInt32 { PostgresType.byteaArray }
    public var postgresByteCount: Int { count }

    @inline(__always)
    public func writePostgres(to destination: UnsafeMutableRawPointer) {
        withUnsafeBytes { UnsafeMutableRawBufferPointer(start: destination, count: $0.count).copyMemory(from: $0) }
    }
}

/// JSON text as `jsonb`: the format's version, 1, and the text (`jsonb_recv`).
struct JSONBinary: PostgresEncodable {
    static var postgresType: UInt32 { PostgresType.jsonb }
    static var postgresArrayType: UInt32 { PostgresType.jsonbArray }
    static let version: UInt8 = 1

    let text: String
    var postgresByteCount: Int { text.utf8.count + 1 }

    @inline(__always)
    func writePostgres(to destination: UnsafeMutableRawPointer) {
        destination.storeBytes(of: Self.version, as: UInt8.self)
        text.writePostgres(to: destination + 1)
    }
}

/// A `timestamptz`: microseconds since 2000-01-01 00:00 UTC.
extension Date: PostgresEncodable {
    public static var postgresType: UInt32 { PostgresType.timestamptz }
    public static var postgresArrayType: UInt32 { PostgresType.timestamptzArray }
    public var postgresByteCount: Int { 8 }
    /// Microseconds from PostgreSQL's epoch, 2000-01-01, to Foundation's, 2001-01-01: 366 days.
    static let postgresEpochDifference: Int64 = 366 * 86_400 * 1_000_000

    /// Rounded to the nearest microsecond; a time that the type cannot hold becomes one the server refuses (22008).
    ///
    /// The two extreme integers would mean infinity, so they are never sent.
    private var microseconds: Int64 {
        let value = (timeIntervalSinceReferenceDate * 1_000_000).rounded()
        guard let whole = Int64(exactly: value) else { return Int64.max - 1 }
        let (sum, overflow) = whole.addingReportingOverflow(Self.postgresEpochDifference)
        return overflow || sum == .max || sum == .min ? Int64.max - 1 : sum
    }

    @inline(__always)
    public func writePostgres(to destination: UnsafeMutableRawPointer) {
        microseconds.writePostgres(to: destination)
    }
}

/// An `interval` of microseconds, without days and months.
extension Duration: PostgresEncodable {
    public static var postgresType: UInt32 { PostgresType.interval }
    public static var postgresArrayType: UInt32 { PostgresType.intervalArray }
    public var postgresByteCount: Int { 16 }

    /// Truncated to microseconds; one that the type cannot hold becomes the longest that it can.
    private var microseconds: Int64 {
        let (whole, isTooLong) = components.seconds.multipliedReportingOverflow(by: 1_000_000)
        let (sum, overflow) = whole.addingReportingOverflow(components.attoseconds / 1_000_000_000_000)
        // The extreme integers belong to infinity.
        if isTooLong || overflow { return components.seconds < 0 ? .min + 1 : .max - 1 }
        return sum
    }

    public func writePostgres(to destination: UnsafeMutableRawPointer) {
        microseconds.writePostgres(to: destination)
        Int64(0).writePostgres(to: destination + 8)
    }
}
