package import Foundation

/// Reads JSON into `Decodable` values; unknown members are passed over, and of two of the same name the first counts.
///
/// Foundation's does the same and takes about twice as long, or more.
package struct JSONTextDecoder: Sendable {
    /// Far deeper than any message; what nests deeper is refused before anything is made of it.
    package static let nestingDepthMaximum = 64

    private let date: @Sendable (String) -> Date?

    /// - Parameter date: the date that a text means; nil when it is none.
    package init(date: @escaping @Sendable (String) -> Date?) {
        self.date = date
    }

    /// The value that bytes mean.
    ///
    /// - Throws: `DecodingError`, for anything that is not such a value.
    package func decode<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws -> Value {
        let tape: JSONTape
        do {
            tape = try JSONTape(bytes, rules: .init(nestingDepthMaximum: Self.nestingDepthMaximum, allowsNUL: true))
        } catch {
            throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "not JSON: \(error.reason)"))
        }
        return try JSONValueDecoder(input: JSONInput(tape: tape, date: date), index: 0, path: nil, key: nil).decode(
            type)
    }
}

/// The text that is being read.
final class JSONInput: Sendable {
    let tape: JSONTape
    let date: @Sendable (String) -> Date?

    init(tape: JSONTape, date: @escaping @Sendable (String) -> Date?) {
        self.tape = tape
        self.date = date
    }
}

/// Where a value stands, from the outermost on: it is wanted only when something is wrong.
final class JSONPath {
    private let outer: JSONPath?
    private let key: any CodingKey

    init(_ outer: JSONPath?, _ key: any CodingKey) {
        self.outer = outer
        self.key = key
    }

    static func keys(_ path: JSONPath?) -> [any CodingKey] {
        var keys: [any CodingKey] = []
        var place = path
        while let here = place {
            keys.append(here.key)
            place = here.outer
        }
        return keys.reversed()
    }
}

/// One value, to be read as whatever is asked for.
struct JSONValueDecoder: Decoder {
    let input: JSONInput
    /// Its token.
    let index: Int
    /// Where the container stands that holds it, and its place in there; nil of the whole text.
    let path: JSONPath?
    let key: (any CodingKey)?

    var codingPath: [any CodingKey] { JSONPath.keys(path) + (key.map { [$0] } ?? []) }
    /// Where it stands itself, for what it holds.
    var ownPath: JSONPath? { key.map { JSONPath(path, $0) } }
    var userInfo: [CodingUserInfoKey: Any] { [:] }
    var kind: JSONTape.Kind { input.tape.tokens[index].kind }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard kind == .object else { throw mismatch([String: Any].self) }
        return KeyedDecodingContainer(JSONMembersReader<Key>(object: self))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard kind == .array else { throw mismatch([Any].self) }
        return JSONElementsReader(array: self)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer {
        JSONSingleReader(value: self)
    }

    // What the containers have in common.

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        guard type == Date.self else { return try Value(from: self) }
        guard let date = input.date(try string()) else { throw corrupted("not a date") }
        guard let value = date as? Value else { throw mismatch(type) }
        return value
    }

    func string() throws -> String {
        guard kind == .string || kind == .escapedString else { throw mismatch(String.self) }
        return input.tape.string(index)
    }

    func bool() throws -> Bool {
        switch kind {
        case .true: return true
        case .false: return false
        default: throw mismatch(Bool.self)
        }
    }

    func double() throws -> Double {
        guard let number = input.tape.number(index) else { throw mismatch(Double.self) }
        return number
    }

    func float() throws -> Float {
        let number = try double()
        let float = Float(number)
        guard float.isFinite, float != 0 || number == 0 else { throw corrupted("a number that does not fit") }
        return float
    }

    /// Also where it is written with a fraction of nothing but zeros, as long as a double tells it from its neighbours.
    func integer<Value: FixedWidthInteger>(_ type: Value.Type) throws -> Value {
        guard kind == .number else { throw mismatch(type) }
        if let integer = input.tape.integer(index) {
            if let value = Value(exactly: integer) { return value }
        } else if let value = Value(String(decoding: input.tape.raw(index), as: UTF8.self)) {
            return value
        } else if let number = input.tape.number(index), number.magnitude < 0x1p53, let value = Value(exactly: number) {
            return value
        }
        throw corrupted("a number that does not fit")
    }

    func mismatch(_ type: Any.Type) -> DecodingError {
        let context = DecodingError.Context(codingPath: codingPath, debugDescription: "found \(kind) instead")
        return kind == .null ? .valueNotFound(type, context) : .typeMismatch(type, context)
    }

    func corrupted(_ description: String) -> DecodingError {
        .dataCorrupted(.init(codingPath: codingPath, debugDescription: description))
    }
}
