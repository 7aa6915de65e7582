import JSONText

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
        let rules = JSONTape.Rules(nestingDepthMaximum: Limit.depth, allowsNUL: true, keepsUnreadable: true)
        guard let tape = try? JSONTape(bytes, rules: rules) else { return nil }
        self.init(tape, 0)
    }

    private init?(_ tape: JSONTape, _ index: Int) {
        let raw = tape.raw(index)
        switch tape.kind(of: index) {
        case .string, .escapedString: self = .string(tape.string(index))
        // A number that no machine can hold stays as it was written, too.
        case .unreadable where !raw.allSatisfy("-+.eE0123456789".utf8.contains): return nil
        case .null, .false, .true, .number, .unreadable: self = .literal(String(decoding: raw, as: UTF8.self))
        case .array, .object:
            let isObject = tape.kind(of: index) == .object
            var (place, fields) = (tape.content(of: index).lowerBound, [Field]())
            while place < tape.content(of: index).upperBound {
                let name = isObject ? OrderedJSON(tape, place)?.string : ""
                if isObject { place += 1 }
                guard let name, let value = OrderedJSON(tape, place) else { return nil }
                fields.append(Field(name: name, value: value))
                place = tape.next(after: place)
            }
            self = isObject ? .object(fields) : .array(fields.map(\.value))
        }
    }
}
