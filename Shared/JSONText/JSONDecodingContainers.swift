/// Reads an object's members.
struct JSONMembersReader<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let object: JSONValueDecoder

    var codingPath: [any CodingKey] { object.codingPath }

    var allKeys: [Key] {
        var keys: [Key] = []
        object.withTape { tape in
            let content = tape.content(of: object.index)
            var index = content.lowerBound
            while index < content.upperBound {
                if let key = Key(stringValue: tape.string(index)) { keys.append(key) }
                index = tape.next(after: index + 1)
            }
        }
        return keys
    }

    func contains(_ key: Key) -> Bool { object.member(key.stringValue) != nil }
    func decodeNil(forKey key: Key) throws -> Bool { object.kind(of: try find(key)) == .null }

    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try value(key) { $0.bool($1) } }
    func decode(_ type: String.Type, forKey key: Key) throws -> String { try value(key) { $0.string($1) } }
    func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try value(key) { $0.double($1) } }
    func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try value(key) { $0.float($1) } }
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try value(key) { $0.integer($1) } }
    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try value(key) { $0.integer($1) } }
    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try value(key) { $0.integer($1) } }
    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try value(key) { $0.integer($1) } }
    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try value(key) { $0.integer($1) } }
    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try value(key) { $0.integer($1) } }
    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try value(key) { $0.integer($1) } }
    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try value(key) { $0.integer($1) } }
    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try value(key) { $0.integer($1) } }
    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try value(key) { $0.integer($1) } }
    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try value(type, key, find(key))
    }

    // What is often absent is looked for once.
    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? { try present(key) { $0.bool($1) } }
    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? { try present(key) { $0.string($1) } }
    func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? { try present(key) { $0.double($1) } }
    func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? { try present(key) { $0.integer($1) } }
    func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? { try present(key) { $0.integer($1) } }
    func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
        guard let index = present(key) else { return nil }
        return try value(type, key, index)
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try object.part(find(key), key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try object.part(find(key), key).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder { object }
    func superDecoder(forKey key: Key) throws -> any Decoder { object.part(try find(key), key) }

    private func find(_ key: Key) throws -> Int {
        let name = key.stringValue
        guard let index = object.member(name) else {
            throw DecodingError.keyNotFound(key, .init(codingPath: codingPath, debugDescription: "no \(name)"))
        }
        return index
    }

    /// A member's value that is there and not null.
    private func present(_ key: Key) -> Int? {
        guard let index = object.member(key.stringValue), object.kind(of: index) != .null else { return nil }
        return index
    }

    @inline(__always)
    private func value<Value>(_ key: Key, _ read: (JSONValueDecoder, Int) -> Value?) throws -> Value {
        let index = try find(key)
        guard let value = read(object, index) else { throw object.part(index, key).fault(Value.self) }
        return value
    }

    @inline(__always)
    private func present<Value>(_ key: Key, _ read: (JSONValueDecoder, Int) -> Value?) throws -> Value? {
        guard let index = present(key) else { return nil }
        guard let value = read(object, index) else { throw object.part(index, key).fault(Value.self) }
        return value
    }

    private func value<Value: Decodable>(_ type: Value.Type, _ key: Key, _ index: Int) throws -> Value {
        try object.value(type, index) { object.part(index, key) }
    }
}

/// Reads an array's elements, one after the other.
struct JSONElementsReader: UnkeyedDecodingContainer {
    private let array: JSONValueDecoder
    // Three words in all, since a container of more is put into memory of its own; a tape's places have 32 bits.
    private var next: Int32
    private let end: Int32
    private(set) var currentIndex = 0

    private var place: Int { Int(next) }

    private struct Position: CodingKey {
        let intValue: Int?
        var stringValue: String { "Index \(intValue ?? 0)" }

        init(intValue: Int) { self.intValue = intValue }
        init?(stringValue: String) { nil }
    }

    init(array: JSONValueDecoder) {
        self.array = array
        next = Int32(truncatingIfNeeded: array.index + 1)
        end = Int32(truncatingIfNeeded: array.withTape { $0.next(after: array.index) })
    }

    var codingPath: [any CodingKey] { array.codingPath }
    var isAtEnd: Bool { next >= end }

    var count: Int? {
        array.withTape { tape in
            var (count, index) = (0, array.index + 1)
            while index < end {
                index = tape.next(after: index)
                count += 1
            }
            return count
        }
    }

    mutating func decodeNil() throws -> Bool {
        try expectElement(Never.self)
        guard array.kind(of: place) == .null else { return false }
        step()
        return true
    }

    mutating func decode(_ type: Bool.Type) throws -> Bool { try value { $0.bool($1) } }
    mutating func decode(_ type: String.Type) throws -> String { try value { $0.string($1) } }
    mutating func decode(_ type: Double.Type) throws -> Double { try value { $0.double($1) } }
    mutating func decode(_ type: Float.Type) throws -> Float { try value { $0.float($1) } }
    mutating func decode(_ type: Int.Type) throws -> Int { try value { $0.integer($1) } }
    mutating func decode(_ type: Int8.Type) throws -> Int8 { try value { $0.integer($1) } }
    mutating func decode(_ type: Int16.Type) throws -> Int16 { try value { $0.integer($1) } }
    mutating func decode(_ type: Int32.Type) throws -> Int32 { try value { $0.integer($1) } }
    mutating func decode(_ type: Int64.Type) throws -> Int64 { try value { $0.integer($1) } }
    mutating func decode(_ type: UInt.Type) throws -> UInt { try value { $0.integer($1) } }
    mutating func decode(_ type: UInt8.Type) throws -> UInt8 { try value { $0.integer($1) } }
    mutating func decode(_ type: UInt16.Type) throws -> UInt16 { try value { $0.integer($1) } }
    mutating func decode(_ type: UInt32.Type) throws -> UInt32 { try value { $0.integer($1) } }
    mutating func decode(_ type: UInt64.Type) throws -> UInt64 { try value { $0.integer($1) } }
    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try expectElement(type)
        let value = try array.value(type, place) { element }
        step()
        return value
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try expectElement(type)
        let container = try element.container(keyedBy: type)
        step()
        return container
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try expectElement([Any].self)
        let container = try element.unkeyedContainer()
        step()
        return container
    }

    mutating func superDecoder() throws -> any Decoder {
        try expectElement((any Decoder).self)
        let decoder = element
        step()
        return decoder
    }

    /// The element that is next; there must be one.
    private var element: JSONValueDecoder { array.part(place, Position(intValue: currentIndex)) }

    @inline(__always)
    private mutating func value<Value>(_ read: (JSONValueDecoder, Int) -> Value?) throws -> Value {
        try expectElement(Value.self)
        guard let value = read(array, place) else { throw element.fault(Value.self) }
        step()
        return value
    }

    private func expectElement(_ type: Any.Type) throws {
        guard isAtEnd else { return }
        throw DecodingError.valueNotFound(
            type,
            .init(
                codingPath: codingPath + [Position(intValue: currentIndex)], debugDescription: "the array has ended"))
    }

    private mutating func step() {
        next = Int32(truncatingIfNeeded: array.withTape { $0.next(after: place) })
        currentIndex += 1
    }
}

/// Reads a value without parts, or one that stands for another.
extension JSONValueDecoder: SingleValueDecodingContainer {
    func decodeNil() -> Bool { kind == .null }
    func decode(_ type: Bool.Type) throws -> Bool { try value(bool(index)) }
    func decode(_ type: String.Type) throws -> String { try value(string(index)) }
    func decode(_ type: Double.Type) throws -> Double { try value(double(index)) }
    func decode(_ type: Float.Type) throws -> Float { try value(float(index)) }
    func decode(_ type: Int.Type) throws -> Int { try value(integer(index)) }
    func decode(_ type: Int8.Type) throws -> Int8 { try value(integer(index)) }
    func decode(_ type: Int16.Type) throws -> Int16 { try value(integer(index)) }
    func decode(_ type: Int32.Type) throws -> Int32 { try value(integer(index)) }
    func decode(_ type: Int64.Type) throws -> Int64 { try value(integer(index)) }
    func decode(_ type: UInt.Type) throws -> UInt { try value(integer(index)) }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try value(integer(index)) }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try value(integer(index)) }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try value(integer(index)) }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try value(integer(index)) }
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try value(type, index) { self }
    }

    @inline(__always)
    private func value<Value>(_ value: Value?) throws -> Value {
        guard let value else { throw fault(Value.self) }
        return value
    }
}
