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

    func encodeNil(forKey key: Key) { output.append(key.stringValue) { output.appendNull() } }
    func encode(_ value: Bool, forKey key: Key) { output.append(key.stringValue) { output.append(value) } }
    func encode(_ value: String, forKey key: Key) { output.append(key.stringValue) { output.append(value) } }
    func encode(_ value: Double, forKey key: Key) throws {
        let digits = try output.digits(value)
        output.append(key.stringValue) { output.append(digits: digits) }
    }
    func encode(_ value: Float, forKey key: Key) throws {
        let digits = try output.digits(value)
        output.append(key.stringValue) { output.append(digits: digits) }
    }
    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
        try output.append(key.stringValue, value: value)
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

    // What is absent is often absent; the standard library's own of these come back here by a longer way.
    func encodeIfPresent(_ value: Bool?, forKey key: Key) { if let value { encode(value, forKey: key) } }
    func encodeIfPresent(_ value: String?, forKey key: Key) { if let value { encode(value, forKey: key) } }
    func encodeIfPresent(_ value: Int?, forKey key: Key) { if let value { encode(value, forKey: key) } }
    func encodeIfPresent(_ value: Int64?, forKey key: Key) { if let value { encode(value, forKey: key) } }
    func encodeIfPresent<Value: Encodable>(_ value: Value?, forKey key: Key) throws {
        if let value { try encode(value, forKey: key) }
    }

    @inline(__always)
    private func number(_ value: some FixedWidthInteger, _ key: Key) {
        output.append(key.stringValue) { output.append(integer: value) }
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy keyType: NestedKey.Type, forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        KeyedEncodingContainer(
            JSONMembersWriter<NestedKey>(output: output.open(key.stringValue, object: true)))
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        JSONElementsWriter(output: output.open(key.stringValue, object: false))
    }

    func superEncoder() -> any Encoder { JSONValueEncoder(output: output.open("super", object: nil)) }
    func superEncoder(forKey key: Key) -> any Encoder {
        JSONValueEncoder(output: output.open(key.stringValue, object: nil))
    }
}

/// Writes an array's elements.
private struct JSONElementsWriter: UnkeyedEncodingContainer {
    let output: JSONOutput
    var codingPath: [any CodingKey] { [] }
    var count: Int { output.count }

    func encodeNil() { output.append("") { output.appendNull() } }
    func encode(_ value: Bool) { output.append("") { output.append(value) } }
    func encode(_ value: String) { output.append("") { output.append(value) } }
    func encode(_ value: Double) throws {
        let digits = try output.digits(value)
        output.append("") { output.append(digits: digits) }
    }
    func encode(_ value: Float) throws {
        let digits = try output.digits(value)
        output.append("") { output.append(digits: digits) }
    }
    func encode<Value: Encodable>(_ value: Value) throws { try output.append("", value: value) }
    func encode(_ value: Int) { output.append("") { output.append(integer: value) } }
    func encode(_ value: Int8) { output.append("") { output.append(integer: value) } }
    func encode(_ value: Int16) { output.append("") { output.append(integer: value) } }
    func encode(_ value: Int32) { output.append("") { output.append(integer: value) } }
    func encode(_ value: Int64) { output.append("") { output.append(integer: value) } }
    func encode(_ value: UInt) { output.append("") { output.append(integer: value) } }
    func encode(_ value: UInt8) { output.append("") { output.append(integer: value) } }
    func encode(_ value: UInt16) { output.append("") { output.append(integer: value) } }
    func encode(_ value: UInt32) { output.append("") { output.append(integer: value) } }
    func encode(_ value: UInt64) { output.append("") { output.append(integer: value) } }

    func nestedContainer<NestedKey: CodingKey>(keyedBy keyType: NestedKey.Type) -> KeyedEncodingContainer<NestedKey> {
        KeyedEncodingContainer(JSONMembersWriter<NestedKey>(output: output.open("", object: true)))
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        JSONElementsWriter(output: output.open("", object: false))
    }

    func superEncoder() -> any Encoder { JSONValueEncoder(output: output.open("", object: nil)) }
}

/// Writes a value without parts, or one that is encoded as another.
private struct JSONSingleWriter: SingleValueEncodingContainer {
    let output: JSONOutput
    var codingPath: [any CodingKey] { [] }

    func encodeNil() { output.appendSingle { output.appendNull() } }
    func encode(_ value: Bool) { output.appendSingle { output.append(value) } }
    func encode(_ value: String) { output.appendSingle { output.append(value) } }
    func encode(_ value: Double) throws { try number(value) }
    func encode(_ value: Float) throws { try number(value) }
    func encode<Value: Encodable>(_ value: Value) throws { try output.appendSingle { try output.append(value: value) } }
    func encode(_ value: Int) { output.appendSingle { output.append(integer: value) } }
    func encode(_ value: Int8) { output.appendSingle { output.append(integer: value) } }
    func encode(_ value: Int16) { output.appendSingle { output.append(integer: value) } }
    func encode(_ value: Int32) { output.appendSingle { output.append(integer: value) } }
    func encode(_ value: Int64) { output.appendSingle { output.append(integer: value) } }
    func encode(_ value: UInt) { output.appendSingle { output.append(integer: value) } }
    func encode(_ value: UInt8) { output.appendSingle { output.append(integer: value) } }
    func encode(_ value: UInt16) { output.appendSingle { output.append(integer: value) } }
    func encode(_ value: UInt32) { output.appendSingle { output.append(integer: value) } }
    func encode(_ value: UInt64) { output.appendSingle { output.append(integer: value) } }

    private func number(_ value: some BinaryFloatingPoint & LosslessStringConvertible & Encodable) throws {
        let digits = try output.digits(value)
        output.appendSingle { output.append(digits: digits) }
    }
}
