import Foundation

/// A value that writes itself in PostgreSQL's binary format (the `*_recv` functions of the server's
/// `src/backend/utils/adt`): everything big-endian, text as UTF-8.
protocol BinaryElement {
    static var type: UInt32 { get }
    static var arrayType: UInt32 { get }
    /// The bytes that `write` writes.
    var binaryCount: Int { get }
    /// Writes exactly `binaryCount` bytes.
    func write(to destination: UnsafeMutableRawPointer)
}

extension Int64: BinaryElement {
    static var type: UInt32 { PostgresType.int8 }
    static var arrayType: UInt32 { PostgresType.int8Array }
    var binaryCount: Int { 8 }

    @inline(__always)
    func write(to destination: UnsafeMutableRawPointer) {
        destination.storeBytes(of: bigEndian, as: Int64.self)
    }
}

extension Int32: BinaryElement {
    static var type: UInt32 { PostgresType.int4 }
    static var arrayType: UInt32 { PostgresType.int4Array }
    var binaryCount: Int { 4 }

    @inline(__always)
    func write(to destination: UnsafeMutableRawPointer) {
        destination.storeBytes(of: bigEndian, as: Int32.self)
    }
}

extension Bool: BinaryElement {
    static var type: UInt32 { PostgresType.bool }
    static var arrayType: UInt32 { PostgresType.boolArray }
    var binaryCount: Int { 1 }

    @inline(__always)
    func write(to destination: UnsafeMutableRawPointer) {
        destination.storeBytes(of: self ? 1 : 0, as: UInt8.self)
    }
}

extension UUID: BinaryElement {
    static var type: UInt32 { PostgresType.uuid }
    static var arrayType: UInt32 { PostgresType.uuidArray }
    var binaryCount: Int { 16 }

    @inline(__always)
    func write(to destination: UnsafeMutableRawPointer) {
        withUnsafeBytes(of: uuid) { UnsafeMutableRawBufferPointer(start: destination, count: 16).copyMemory(from: $0) }
    }
}

extension String: BinaryElement {
    static var type: UInt32 { PostgresType.text }
    static var arrayType: UInt32 { PostgresType.textArray }
    var binaryCount: Int { utf8.count }

    @inline(__always)
    func write(to destination: UnsafeMutableRawPointer) {
        let copied: Void? = utf8.withContiguousStorageIfAvailable {
            UnsafeMutableRawBufferPointer(start: destination, count: $0.count).copyMemory(
                from: UnsafeRawBufferPointer($0))
        }
        if copied == nil { Array(utf8).write(to: destination) }
    }
}

extension [UInt8]: BinaryElement {
    static var type: UInt32 { PostgresType.bytea }
    static var arrayType: UInt32 { PostgresType.byteaArray }
    var binaryCount: Int { count }

    @inline(__always)
    func write(to destination: UnsafeMutableRawPointer) {
        withUnsafeBytes { UnsafeMutableRawBufferPointer(start: destination, count: $0.count).copyMemory(from: $0) }
    }
}

/// JSON text as `jsonb`: the format's version, 1, and the text (`jsonb_recv`).
struct JSONBinary: BinaryElement {
    static var type: UInt32 { PostgresType.jsonb }
    static var arrayType: UInt32 { PostgresType.jsonbArray }
    static let version: UInt8 = 1

    let text: String
    var binaryCount: Int { text.utf8.count + 1 }

    @inline(__always)
    func write(to destination: UnsafeMutableRawPointer) {
        destination.storeBytes(of: Self.version, as: UInt8.self)
        text.write(to: destination + 1)
    }
}

/// A time as `timestamptz`: microseconds since 2000-01-01 00:00 UTC.
struct TimestampBinary: BinaryElement {
    static var type: UInt32 { PostgresType.timestamptz }
    static var arrayType: UInt32 { PostgresType.timestamptzArray }
    /// From PostgreSQL's epoch, 2000-01-01, to Foundation's, 2001-01-01: 366 days.
    static let epochDifference: Int64 = 366 * 86_400 * 1_000_000

    let date: Date
    var binaryCount: Int { 8 }

    /// Rounded to the nearest microsecond; a time that the type cannot hold becomes one the server refuses (22008).
    ///
    /// The two extreme integers would mean infinity, so they are never sent.
    var microseconds: Int64 {
        let value = (date.timeIntervalSinceReferenceDate * 1_000_000).rounded()
        guard let whole = Int64(exactly: value) else { return Int64.max - 1 }
        let (sum, overflow) = whole.addingReportingOverflow(Self.epochDifference)
        return overflow || sum == .max || sum == .min ? Int64.max - 1 : sum
    }

    @inline(__always)
    func write(to destination: UnsafeMutableRawPointer) {
        microseconds.write(to: destination)
    }
}
