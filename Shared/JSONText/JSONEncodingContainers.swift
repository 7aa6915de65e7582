/// Hands out the containers of one value.
struct JSONValueEncoder: Encoder {
    let output: JSONOutput
    /// Where it stands is not followed: what fails here is our own mistake, and the type says where.
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        output.begin(object: true)
        return KeyedEncodingContainer(JSONMembersWriter<Key>(output: output))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        output.begin(object: false)
        return JSONElementsWriter(output: output)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer {
        JSONSingleWriter(output: output)
    }
}

/// Writes an object's members.
private struct JSONMembersWriter<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let output: JSONOutput
    var codingPath: [any CodingKey] { [] }

    func encodeNil(forKey key: Key) { output.append(member: key.stringValue) { output.appendNull() } }
    func encode(_ value: Bool, forKey key: Key) { output.append(member: key.stringValue) { output.append(value) } }
    func encode(_ value: String, forKey key: Key) { output.append(member: key.stringValue) { output.append(value) } }
    func encode(_ value: Double, forKey key: Key) throws {
        try output.append(member: key.stringValue) { try output.append(value) }
    }
    func encode(_ value: Float, forKey key: Key) throws {
        try output.append(member: key.stringValue) { try output.append(value) }
    }
    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
        try output.append(member: key.stringValue) { try output.append(value) }
    }
    func encode(_ value: Int, forKey key: Key) { number(value, key) }
    func encode(_ value: Int8, forKey key: Key) { number(value, key) }
    func encode(_ value: Int16, forKey key: Key) { number(value, key) }
    func encode(_ value: Int32, forKey key: Key) { number(value, key) }
    func encode(_ value: Int64, forKey key: Key) { number(value, key) }
    func encode(_ value: UInt, forKey key: Key) { number(value, key) }
    func encode(_ value: UInt8, forKey key: Key) { number(value, key) }
    func encode(_ value: UInt16, forKey key: Key) { number(value, key) }
    func encode(_ value: UInt32, forKey key: Key) { number(value, key) }
    func encode(_ value: UInt64, forKey key: Key) { number(value, key) }

    private func number(_ value: some BinaryInteger & CustomStringConvertible & Encodable, _ key: Key) {
        output.append(member: key.stringValue) { output.append(value) }
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy keyType: NestedKey.Type, forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        KeyedEncodingContainer(
            JSONMembersWriter<NestedKey>(output: output.open(member: key.stringValue, object: true)))
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        JSONElementsWriter(output: output.open(member: key.stringValue, object: false))
    }

    func superEncoder() -> any Encoder { JSONValueEncoder(output: output.open(member: "super", object: nil)) }
    func superEncoder(forKey key: Key) -> any Encoder {
        JSONValueEncoder(output: output.open(member: key.stringValue, object: nil))
    }
}

/// Writes an array's elements.
private struct JSONElementsWriter: UnkeyedEncodingContainer {
    let output: JSONOutput
    var codingPath: [any CodingKey] { [] }
    var count: Int { output.count }

    func encodeNil() { output.append(member: "") { output.appendNull() } }
    func encode(_ value: Bool) { output.append(member: "") { output.append(value) } }
    func encode(_ value: String) { output.append(member: "") { output.append(value) } }
    func encode(_ value: Double) throws { try output.append(member: "") { try output.append(value) } }
    func encode(_ value: Float) throws { try output.append(member: "") { try output.append(value) } }
    func encode<Value: Encodable>(_ value: Value) throws {
        try output.append(member: "") { try output.append(value) }
    }
    func encode(_ value: Int) { output.append(member: "") { output.append(value) } }
    func encode(_ value: Int8) { output.append(member: "") { output.append(value) } }
    func encode(_ value: Int16) { output.append(member: "") { output.append(value) } }
    func encode(_ value: Int32) { output.append(member: "") { output.append(value) } }
    func encode(_ value: Int64) { output.append(member: "") { output.append(value) } }
    func encode(_ value: UInt) { output.append(member: "") { output.append(value) } }
    func encode(_ value: UInt8) { output.append(member: "") { output.append(value) } }
    func encode(_ value: UInt16) { output.append(member: "") { output.append(value) } }
    func encode(_ value: UInt32) { output.append(member: "") { output.append(value) } }
    func encode(_ value: UInt64) { output.append(member: "") { output.append(value) } }

    func nestedContainer<NestedKey: CodingKey>(keyedBy keyType: NestedKey.Type) -> KeyedEncodingContainer<NestedKey> {
        KeyedEncodingContainer(JSONMembersWriter<NestedKey>(output: output.open(member: "", object: true)))
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        JSONElementsWriter(output: output.open(member: "", object: false))
    }

    func superEncoder() -> any Encoder { JSONValueEncoder(output: output.open(member: "", object: nil)) }
}

/// Writes a value without parts, or one that is encoded as another.
private struct JSONSingleWriter: SingleValueEncodingContainer {
    let output: JSONOutput
    var codingPath: [any CodingKey] { [] }

    func encodeNil() { output.appendNull() }
    func encode(_ value: Bool) { output.append(value) }
    func encode(_ value: String) { output.append(value) }
    func encode(_ value: Double) throws { try output.append(value) }
    func encode(_ value: Float) throws { try output.append(value) }
    func encode<Value: Encodable>(_ value: Value) throws { try output.append(value) }
    func encode(_ value: Int) { output.append(value) }
    func encode(_ value: Int8) { output.append(value) }
    func encode(_ value: Int16) { output.append(value) }
    func encode(_ value: Int32) { output.append(value) }
    func encode(_ value: Int64) { output.append(value) }
    func encode(_ value: UInt) { output.append(value) }
    func encode(_ value: UInt8) { output.append(value) }
    func encode(_ value: UInt16) { output.append(value) }
    func encode(_ value: UInt32) { output.append(value) }
    func encode(_ value: UInt64) { output.append(value) }
}
