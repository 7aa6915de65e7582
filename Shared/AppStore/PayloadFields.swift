import Foundation

/// The fields of a verified payload, by type.
///
/// A field that matters to who bought what is read strictly: when it is there and cannot be read, the payload is
/// refused. Any other field that cannot be read is left out and named in ``unreadable``, because a change at Apple's
/// side must not turn a paid purchase away.
struct PayloadFields {
    private let object: JSONObject
    private(set) var unreadable: [String] = []

    init(_ object: JSONObject) {
        self.object = object
    }

    /// A field that every payload of its kind has; missing, null and empty are the same.
    func required(_ name: String) throws(SignedDataRejection) -> String {
        switch object[name] {
        case .string(let text) where !text.isEmpty: return text
        case nil, .null?, .string?: throw SignedDataRejection(.fieldMissing, "no \(name)")
        default: throw Self.invalid(name)
        }
    }

    /// An id of Apple's, which every payload of its kind has.
    func requiredId(_ name: String) throws(SignedDataRejection) -> String {
        let text = try required(name)
        guard Self.isId(text) else { throw Self.invalid(name) }
        return text
    }

    func requiredDate(_ name: String) throws(SignedDataRejection) -> Date {
        guard let date = try strictDate(name) else { throw SignedDataRejection(.fieldMissing, "no \(name)") }
        return date
    }

    func strictDate(_ name: String) throws(SignedDataRejection) -> Date? {
        guard let value = value(name) else { return nil }
        guard let date = Self.date(value) else { throw Self.invalid(name) }
        return date
    }

    func strictInteger(_ name: String, in range: ClosedRange<Int64>) throws(SignedDataRejection) -> Int64? {
        guard let value = value(name) else { return nil }
        guard let integer = Self.integer(value), range.contains(integer) else { throw Self.invalid(name) }
        return integer
    }

    func strictString(_ name: String) throws(SignedDataRejection) -> String? {
        guard let value = value(name) else { return nil }
        guard case .string(let text) = value else { throw Self.invalid(name) }
        return text
    }

    /// A nested object's fields, when it is there.
    func strictObject(_ name: String) throws(SignedDataRejection) -> PayloadFields? {
        guard let value = value(name) else { return nil }
        guard case .object(let place) = value else { throw Self.invalid(name) }
        return PayloadFields(object.object(at: place))
    }

    /// Whether a field is there and says something.
    func has(_ name: String) -> Bool {
        value(name) != nil
    }

    /// The names of fields that are not among `known`, sorted.
    func names(besides known: Set<String>) -> [String] {
        object.names(besides: known)
    }

    mutating func string(_ name: String) -> String? {
        read(name) { if case .string(let text) = $0 { text } else { nil } }
    }

    /// An id of Apple's.
    mutating func id(_ name: String) -> String? {
        read(name) { if case .string(let text) = $0, Self.isId(text) { text } else { nil } }
    }

    mutating func integer(_ name: String) -> Int64? {
        read(name, Self.integer)
    }

    mutating func bool(_ name: String) -> Bool? {
        read(name) { if case .bool(let bool) = $0 { bool } else { nil } }
    }

    mutating func date(_ name: String) -> Date? {
        read(name, Self.date)
    }

    /// An empty text is none, as in what is required.
    mutating func uuid(_ name: String) -> UUID? {
        guard object[name] != .string("") else { return nil }
        return read(name) { if case .string(let text) = $0 { UUIDText.uuid(text) } else { nil } }
    }

    mutating func strings(_ name: String) -> [String]? {
        let source = object
        return read(name) {
            guard case .array(let place) = $0 else { return nil }
            let elements = source.elements(at: place)
            let texts = elements.compactMap { if case .string(let text) = $0 { text } else { nil } }
            return texts.count == elements.count ? texts : nil
        }
    }

    /// A nested object's fields.
    mutating func object(_ name: String) -> PayloadFields? {
        let source = object
        return read(name) {
            if case .object(let place) = $0 { PayloadFields(source.object(at: place)) } else { nil }
        }
    }

    /// A nested value as it is written.
    func raw(_ name: String) -> String? {
        switch object[name] {
        case .object(let range)?, .array(let range)?: object.raw(at: range)
        case .string(let text)?: text
        default: nil
        }
    }

    /// A time in milliseconds since 1970, fractional in what Xcode signs; nil outside the years 1 to 9999.
    static func date(_ value: JSONValue) -> Date? {
        let milliseconds: Double
        switch value {
        case .integer(let integer): milliseconds = Double(integer)
        case .number(let number): milliseconds = number
        default: return nil
        }
        guard (-62_135_769_600_000...253_402_300_799_999).contains(milliseconds) else { return nil }
        return Date(timeIntervalSince1970: milliseconds / 1_000)
    }

    // Apple's ids are digits. Of other letters one text may have two spellings, which are one to Swift and two to a database.
    private static func isId(_ text: String) -> Bool {
        text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
    }

    private static func integer(_ value: JSONValue) -> Int64? {
        switch value {
        case .integer(let integer): integer
        case .number(let number): Int64(exactly: number)
        default: nil
        }
    }

    private func value(_ name: String) -> JSONValue? {
        guard let value = object[name], value != .null else { return nil }
        return value
    }

    private mutating func read<Value>(_ name: String, _ interpret: (JSONValue) -> Value?) -> Value? {
        guard let value = value(name) else { return nil }
        guard let result = interpret(value) else {
            unreadable.append(name)
            return nil
        }
        return result
    }

    private static func invalid(_ name: String) -> SignedDataRejection {
        SignedDataRejection(.fieldInvalid, "\(name) cannot be read")
    }
}
