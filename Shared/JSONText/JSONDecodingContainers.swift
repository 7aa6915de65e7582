/// Reads an object's members.
struct JSONMembersReader<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let object: JSONValueDecoder
    private let path: JSONPath?
    private let cursor: JSONCursor

    init(object: JSONValueDecoder) {
        self.object = object
        path = object.ownPath
        cursor = JSONCursor(object.index + 1)
    }

    var codingPath: [any CodingKey] { object.codingPath }

    var allKeys: [Key] {
        var keys: [Key] = []
        let tape = object.input.tape
        var index = object.index + 1
        while index < tape.next(after: object.index) {
            if let key = Key(stringValue: tape.string(index)) { keys.append(key) }
            index = tape.next(after: index + 1)
        }
        return keys
    }

    func contains(_ key: Key) -> Bool { find(key) != nil }

    func decodeNil(forKey key: Key) throws -> Bool {
        guard let index = find(key) else { throw missing(key) }
        return object.input.tape.tokens[index].kind == .null
    }

    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try value(key).bool() }
    func decode(_ type: String.Type, forKey key: Key) throws -> String { try value(key).string() }
    func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try value(key).double() }
    func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try value(key).float() }
    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try value(key).decode(type)
    }
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try value(key).integer(type) }
    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try value(key).integer(type) }
    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try value(key).integer(type) }
    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try value(key).integer(type) }
    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try value(key).integer(type) }
    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try value(key).integer(type) }
    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try value(key).integer(type) }
    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try value(key).integer(type) }
    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try value(key).integer(type) }
    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try value(key).integer(type) }

    // What is often absent is looked for once.
    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? { try present(key)?.bool() }
    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? { try present(key)?.string() }
    func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? { try present(key)?.double() }
    func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? { try present(key)?.integer(type) }
    func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? { try present(key)?.integer(type) }
    func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
        try present(key)?.decode(type)
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try value(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try value(key).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder { object }
    func superDecoder(forKey key: Key) throws -> any Decoder { try value(key) }

    private func find(_ key: Key) -> Int? {
        let index = object.input.tape.member(key.stringValue, of: object.index, from: cursor.place)
        if let index { cursor.place = index - 1 }
        return index
    }

    private func value(_ key: Key) throws -> JSONValueDecoder {
        guard let index = find(key) else { throw missing(key) }
        return JSONValueDecoder(input: object.input, index: index, path: path, key: key)
    }

    /// The value of a member that is there and not null.
    private func present(_ key: Key) -> JSONValueDecoder? {
        guard let index = find(key), object.input.tape.tokens[index].kind != .null else { return nil }
        return JSONValueDecoder(input: object.input, index: index, path: path, key: key)
    }

    private func missing(_ key: Key) -> DecodingError {
        .keyNotFound(key, .init(codingPath: codingPath, debugDescription: "no \(key.stringValue)"))
    }
}

/// The member that was found last: the next one is looked for from there.
private final class JSONCursor {
    var place: Int

    init(_ place: Int) {
        self.place = place
    }
}

/// Reads an array's elements, one after the other.
struct JSONElementsReader: UnkeyedDecodingContainer {
    let array: JSONValueDecoder
    private let path: JSONPath?
    private var place: Int
    private(set) var currentIndex = 0

    private struct Position: CodingKey {
        let intValue: Int?
        var stringValue: String { "Index \(intValue ?? 0)" }

        init(intValue: Int) { self.intValue = intValue }
        init?(stringValue: String) { nil }
    }

    init(array: JSONValueDecoder) {
        self.array = array
        path = array.ownPath
        place = array.index + 1
    }

    var codingPath: [any CodingKey] { array.codingPath }
    var isAtEnd: Bool { place >= array.input.tape.next(after: array.index) }

    var count: Int? {
        var (count, index) = (0, array.index + 1)
        while index < array.input.tape.next(after: array.index) {
            index = array.input.tape.next(after: index)
            count += 1
        }
        return count
    }

    mutating func decodeNil() throws -> Bool {
        guard try value(Never.self).kind == .null else { return false }
        step()
        return true
    }

    mutating func decode(_ type: Bool.Type) throws -> Bool { try read(type) { try $0.bool() } }
    mutating func decode(_ type: String.Type) throws -> String { try read(type) { try $0.string() } }
    mutating func decode(_ type: Double.Type) throws -> Double { try read(type) { try $0.double() } }
    mutating func decode(_ type: Float.Type) throws -> Float { try read(type) { try $0.float() } }
    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try read(type) { try $0.decode(type) }
    }
    mutating func decode(_ type: Int.Type) throws -> Int { try read(type) { try $0.integer(type) } }
    mutating func decode(_ type: Int8.Type) throws -> Int8 { try read(type) { try $0.integer(type) } }
    mutating func decode(_ type: Int16.Type) throws -> Int16 { try read(type) { try $0.integer(type) } }
    mutating func decode(_ type: Int32.Type) throws -> Int32 { try read(type) { try $0.integer(type) } }
    mutating func decode(_ type: Int64.Type) throws -> Int64 { try read(type) { try $0.integer(type) } }
    mutating func decode(_ type: UInt.Type) throws -> UInt { try read(type) { try $0.integer(type) } }
    mutating func decode(_ type: UInt8.Type) throws -> UInt8 { try read(type) { try $0.integer(type) } }
    mutating func decode(_ type: UInt16.Type) throws -> UInt16 { try read(type) { try $0.integer(type) } }
    mutating func decode(_ type: UInt32.Type) throws -> UInt32 { try read(type) { try $0.integer(type) } }
    mutating func decode(_ type: UInt64.Type) throws -> UInt64 { try read(type) { try $0.integer(type) } }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try read(type) { try $0.container(keyedBy: type) }
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try read([Any].self) { try $0.unkeyedContainer() }
    }

    mutating func superDecoder() throws -> any Decoder { try read((any Decoder).self) { $0 } }

    private mutating func read<Value>(
        _ type: Any.Type, _ body: (JSONValueDecoder) throws -> Value
    ) throws -> Value {
        let value = try body(try value(type))
        step()
        return value
    }

    private func value(_ type: Any.Type) throws -> JSONValueDecoder {
        let position = Position(intValue: currentIndex)
        guard !isAtEnd else {
            throw DecodingError.valueNotFound(
                type, .init(codingPath: codingPath + [position], debugDescription: "the array has ended"))
        }
        return JSONValueDecoder(input: array.input, index: place, path: path, key: position)
    }

    private mutating func step() {
        place = array.input.tape.next(after: place)
        currentIndex += 1
    }
}

/// Reads a value without parts, or one that stands for another.
struct JSONSingleReader: SingleValueDecodingContainer {
    let value: JSONValueDecoder
    var codingPath: [any CodingKey] { value.codingPath }

    func decodeNil() -> Bool { value.kind == .null }
    func decode(_ type: Bool.Type) throws -> Bool { try value.bool() }
    func decode(_ type: String.Type) throws -> String { try value.string() }
    func decode(_ type: Double.Type) throws -> Double { try value.double() }
    func decode(_ type: Float.Type) throws -> Float { try value.float() }
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try value.decode(type) }
    func decode(_ type: Int.Type) throws -> Int { try value.integer(type) }
    func decode(_ type: Int8.Type) throws -> Int8 { try value.integer(type) }
    func decode(_ type: Int16.Type) throws -> Int16 { try value.integer(type) }
    func decode(_ type: Int32.Type) throws -> Int32 { try value.integer(type) }
    func decode(_ type: Int64.Type) throws -> Int64 { try value.integer(type) }
    func decode(_ type: UInt.Type) throws -> UInt { try value.integer(type) }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try value.integer(type) }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try value.integer(type) }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try value.integer(type) }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try value.integer(type) }
}
