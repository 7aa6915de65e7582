/// JSON that keeps the order of its fields and the text of its numbers, so that what is not changed stays as it was.
indirect enum OrderedJSON: Sendable, Equatable {
    enum Limit {
        /// Objects and arrays in each other.
        static let depth = 64
    }

    case object([Field])
    case array([OrderedJSON])
    case string(String)
    /// A number, `true`, `false` or `null`, as it was written.
    case literal(String)

    struct Field: Sendable, Equatable {
        var name: String
        var value: OrderedJSON
    }

    /// A field of an object.
    subscript(name: String) -> OrderedJSON? {
        get {
            guard case .object(let fields) = self else { return nil }
            return fields.first { $0.name == name }?.value
        }
        set {
            guard case .object(var fields) = self else { return }
            let index = fields.firstIndex { $0.name == name }
            if let newValue, let index {
                fields[index].value = newValue
            } else if let newValue {
                fields.append(Field(name: name, value: newValue))
            } else if let index {
                fields.remove(at: index)
            }
            self = .object(fields)
        }
    }

    /// The text, if it is one.
    var string: String? { if case .string(let text) = self { text } else { nil } }

    /// Puts a value where a path leads, such as `data.signedTransactionInfo.price`; objects on the way are made.
    ///
    /// - Returns: whether there was a way: none leads through a text, a number or beyond the end of an array.
    mutating func set(_ value: OrderedJSON, at path: ArraySlice<Substring>) -> Bool {
        guard let name = path.first.map(String.init) else {
            self = value
            return true
        }
        switch self {
        case .object:
            var child = self[name] ?? .object([])
            guard child.set(value, at: path.dropFirst()) else { return false }
            self[name] = child
        case .array(var values):
            guard let index = Int(name), values.indices.contains(index),
                values[index].set(value, at: path.dropFirst())
            else { return false }
            self = .array(values)
        case .string, .literal: return false
        }
        return true
    }

    /// What a merge patch makes of it: `null` removes a field (RFC 7396).
    func merging(_ patch: OrderedJSON) -> OrderedJSON {
        guard case .object(let changes) = patch else { return patch }
        var merged = self
        if case .object = merged {} else { merged = .object([]) }
        for change in changes {
            merged[change.name] =
                change.value == .literal("null")
                ? nil : (merged[change.name] ?? .object([])).merging(change.value)
        }
        return merged
    }

    /// The JSON.
    var text: String {
        switch self {
        case .object(let fields):
            "{" + fields.map { JSONText.quoted($0.name) + ":" + $0.value.text }.joined(separator: ",") + "}"
        case .array(let values): "[" + values.map(\.text).joined(separator: ",") + "]"
        case .string(let text): JSONText.quoted(text)
        case .literal(let text): text
        }
    }

    /// Reads JSON (RFC 8259); nil when it is none, or too deep.
    init?(_ text: String) {
        self.init(Array(text.utf8))
    }

    /// Reads JSON in UTF-8 (RFC 8259); nil when it is none, or too deep.
    init?(_ bytes: [UInt8]) {
        var reader = JSONReader(bytes: bytes)
        guard let value = reader.document() else { return nil }
        self = value
    }
}

/// Reads one JSON document.
private struct JSONReader {
    let bytes: [UInt8]
    private var position = 0

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    mutating func document() -> OrderedJSON? {
        guard let value = value(depth: 0) else { return nil }
        skipSpace()
        return position == bytes.count ? value : nil
    }

    private mutating func value(depth: Int) -> OrderedJSON? {
        guard depth < OrderedJSON.Limit.depth else { return nil }
        skipSpace()
        guard position < bytes.count else { return nil }
        switch bytes[position] {
        case UInt8(ascii: "{"): return object(depth: depth)
        case UInt8(ascii: "["): return array(depth: depth)
        case UInt8(ascii: "\""): return string().map(OrderedJSON.string)
        default: return literal()
        }
    }

    private mutating func object(depth: Int) -> OrderedJSON? {
        position += 1
        var fields: [OrderedJSON.Field] = []
        if take("}") { return .object([]) }
        while true {
            skipSpace()
            guard let name = string(), take(":"), let value = value(depth: depth + 1) else { return nil }
            fields.append(OrderedJSON.Field(name: name, value: value))
            if take("}") { return .object(fields) }
            guard take(",") else { return nil }
        }
    }

    private mutating func array(depth: Int) -> OrderedJSON? {
        position += 1
        var values: [OrderedJSON] = []
        if take("]") { return .array([]) }
        while true {
            guard let value = value(depth: depth + 1) else { return nil }
            values.append(value)
            if take("]") { return .array(values) }
            guard take(",") else { return nil }
        }
    }

    private mutating func literal() -> OrderedJSON? {
        let start = position
        while position < bytes.count, !",]} \t\r\n".utf8.contains(bytes[position]) { position += 1 }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        let isNumber = text.wholeMatch(of: /-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/) != nil
        return isNumber || ["true", "false", "null"].contains(text) ? .literal(text) : nil
    }

    private mutating func string() -> String? {
        guard position < bytes.count, bytes[position] == UInt8(ascii: "\"") else { return nil }
        position += 1
        var text: [UInt8] = []
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return String(validating: text, as: UTF8.self)
            case UInt8(ascii: "\\"):
                guard let character = escape() else { return nil }
                text += Array(String(character).utf8)
            case 0..<0x20: return nil
            default: text.append(byte)
            }
        }
        return nil
    }

    private mutating func escape() -> Unicode.Scalar? {
        guard position < bytes.count else { return nil }
        let byte = bytes[position]
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{c}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): break
        default: return nil
        }
        guard let unit = codeUnit() else { return nil }
        guard (0xD800..<0xDC00).contains(unit) else { return Unicode.Scalar(unit) }
        // A pair of surrogates is one character.
        guard bytes[position...].starts(with: "\\u".utf8) else { return nil }
        position += 2
        guard let low = codeUnit(), (0xDC00..<0xE000).contains(low) else { return nil }
        return Unicode.Scalar(0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00))
    }

    private mutating func codeUnit() -> UInt32? {
        guard position + 4 <= bytes.count else { return nil }
        let digits = String(decoding: bytes[position..<position + 4], as: UTF8.self)
        position += 4
        return digits.allSatisfy(\.isHexDigit) ? UInt32(digits, radix: 16) : nil
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        skipSpace()
        guard position < bytes.count, bytes[position] == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    private mutating func skipSpace() {
        while position < bytes.count, " \t\r\n".utf8.contains(bytes[position]) { position += 1 }
    }
}
