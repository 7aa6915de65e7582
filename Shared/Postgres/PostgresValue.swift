public import Foundation

/// A parameter of a statement, with its type, encoded in binary when it is made.
///
/// A nil argument is NULL of that type. Arrays are what multi-row statements take
/// (`INSERT … SELECT * FROM unnest($1::text[], $2::int8[])`): each is built in one allocation.
public struct PostgresValue: Sendable {
    /// The object id of the type.
    let type: UInt32
    /// The value in binary format; nil is NULL.
    let bytes: [UInt8]?

    private init(type: UInt32, bytes: [UInt8]?) {
        self.type = type
        self.bytes = bytes
    }

    /// A `text`; PostgreSQL refuses U+0000 in it (SQLSTATE 22021).
    public static func text(_ value: String?) -> PostgresValue { scalar(value) }

    /// An `int8` (bigint).
    public static func int8(_ value: Int64?) -> PostgresValue { scalar(value) }

    /// An `int4` (integer).
    public static func int4(_ value: Int32?) -> PostgresValue { scalar(value) }

    /// A `bool`.
    public static func bool(_ value: Bool?) -> PostgresValue { scalar(value) }

    /// A `timestamptz`, rounded to the nearest microsecond; a date out of its range is refused by the server (22008).
    public static func timestamptz(_ value: Date?) -> PostgresValue { scalar(value) }

    /// A `uuid`.
    public static func uuid(_ value: UUID?) -> PostgresValue { scalar(value) }

    /// A `jsonb`, from JSON text; the server refuses what is not JSON (22P02).
    public static func jsonb(_ value: String?) -> PostgresValue { scalar(value.map(JSONBinary.init(text:))) }

    /// A `bytea`.
    public static func bytea(_ value: [UInt8]?) -> PostgresValue { scalar(value) }

    /// A `text[]`.
    public static func textArray(_ values: [String?]) -> PostgresValue { array(values) { $0 } }

    /// An `int8[]`.
    public static func int8Array(_ values: [Int64?]) -> PostgresValue { array(values) { $0 } }

    /// An `int4[]`.
    public static func int4Array(_ values: [Int32?]) -> PostgresValue { array(values) { $0 } }

    /// A `bool[]`.
    public static func boolArray(_ values: [Bool?]) -> PostgresValue { array(values) { $0 } }

    /// A `timestamptz[]`.
    public static func timestamptzArray(_ values: [Date?]) -> PostgresValue {
        array(values) { $0 }
    }

    /// A `uuid[]`.
    public static func uuidArray(_ values: [UUID?]) -> PostgresValue { array(values) { $0 } }

    /// A `jsonb[]`, from JSON texts.
    public static func jsonbArray(_ values: [String?]) -> PostgresValue {
        array(values) { $0.map(JSONBinary.init(text:)) }
    }

    /// A `bytea[]`.
    public static func byteaArray(_ values: [[UInt8]?]) -> PostgresValue { array(values) { $0 } }

    /// One value; nil is NULL.
    static func scalar<Element: PostgresEncodable>(_ value: Element?) -> PostgresValue {
        guard let value else { return PostgresValue(type: Element.postgresType, bytes: nil) }
        let count = value.postgresByteCount
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            if let base = buffer.baseAddress { value.writePostgres(to: base) }
            initialized = count
        }
        return PostgresValue(type: Element.postgresType, bytes: bytes)
    }

    /// An array in the format of `array_recv`: dimensions, whether NULL occurs, the elements' type; then, unless it is
    /// empty, count and lower bound; then each element as its length (-1 for NULL) and its bytes.
    @inline(__always)
    static func array<Source, Element: PostgresEncodable>(
        _ values: [Source], as convert: (Source) -> Element?
    ) -> PostgresValue {
        var total = values.isEmpty ? 12 : 20 + 4 * values.count
        var hasNull = false
        for value in values {
            if let element = convert(value) { total += element.postgresByteCount } else { hasNull = true }
        }
        let bytes = [UInt8](unsafeUninitializedCapacity: total) { buffer, initialized in
            guard var cursor = UnsafeMutableRawPointer(buffer.baseAddress) else { return }
            func append(_ number: Int32) {
                number.writePostgres(to: cursor)
                cursor += 4
            }
            append(values.isEmpty ? 0 : 1)
            append(hasNull ? 1 : 0)
            append(Int32(bitPattern: Element.postgresType))
            if !values.isEmpty {
                append(Int32(truncatingIfNeeded: values.count))
                append(1)
            }
            for value in values {
                guard let element = convert(value) else {
                    append(-1)
                    continue
                }
                let count = element.postgresByteCount
                // A length of more than 31 bits makes a parameter that the connection refuses to send.
                append(Int32(truncatingIfNeeded: count))
                element.writePostgres(to: cursor)
                cursor += count
            }
            initialized = total
        }
        return PostgresValue(type: Element.postgresArrayType, bytes: bytes)
    }
}
