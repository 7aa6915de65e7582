import JSONText

/// A value of a JSON object; what nests is kept as its place in the text, and read only when somebody asks.
enum JSONValue: Equatable {
    case null
    case bool(Bool)
    /// A number without fraction or exponent that fits.
    case integer(Int64)
    /// Any other number; always finite.
    case number(Double)
    case string(String)
    case array(JSONPlace)
    case object(JSONPlace)
    /// What is beyond the limits, or of a name that occurs twice; nothing is made of it.
    case unreadable
}

/// Where an object or an array stands in the text that holds it.
struct JSONPlace: Equatable {
    fileprivate let index: Int
}

/// The fields of a JSON object that somebody sent us.
///
/// Foundation's decoder takes a fifth of the time that the signature takes, accepts a field twice, and cannot be told
/// how deep to go. This reader is strict RFC 8259 in one pass, and makes nothing of what must not reach a database either:
/// fields that occur twice, NUL in strings, numbers without end. In a header that refuses the whole; in a payload such a value is
/// unreadable, since what nobody asks for must not turn a paid purchase away.
struct JSONObject {
    /// What a name is told as that cannot be read.
    static let unreadableName = "(unreadable)"

    /// The values by name.
    let fields: [String: JSONValue]
    private let tape: JSONTape

    /// The whole text, of which this may be a nested object.
    var text: [UInt8] { tape.bytes }

    /// Reads a text that is one object and nothing else.
    ///
    /// - Parameter keepsUnreadable: whether it is read nevertheless where a value of it cannot be.
    init(_ text: [UInt8], nestingDepthMaximum: Int, keepsUnreadable: Bool = false) throws(JSONFault) {
        let tape = try JSONTape(
            text,
            rules: .init(
                nestingDepthMaximum: nestingDepthMaximum, allowsNUL: false, keepsUnreadable: keepsUnreadable))
        guard tape.kind(of: 0) == .object else { throw JSONFault("not an object") }
        self.init(tape, at: JSONPlace(index: 0))
        guard keepsUnreadable || !isNameTwice else { throw JSONFault("a field occurs twice") }
    }

    /// Whether a name occurs twice.
    private let isNameTwice: Bool

    private init(_ tape: JSONTape, at place: JSONPlace) {
        var isNameTwice = false
        var fields: [String: JSONValue] = [:]
        fields.reserveCapacity(32)
        let content = tape.content(of: place.index)
        var index = content.lowerBound
        while index < content.upperBound {
            let name = tape.kind(of: index) == .unreadable ? Self.unreadableName : tape.string(index)
            if fields.updateValue(Self.value(tape, index + 1), forKey: name) != nil {
                fields[name] = .unreadable
                isNameTwice = true
            }
            index = tape.next(after: index + 1)
        }
        self.fields = fields
        self.isNameTwice = isNameTwice
        self.tape = tape
    }

    private static func value(_ tape: JSONTape, _ index: Int) -> JSONValue {
        switch tape.kind(of: index) {
        case .null: .null
        case .true: .bool(true)
        case .false: .bool(false)
        case .string, .escapedString: .string(tape.string(index))
        case .object: .object(JSONPlace(index: index))
        case .array: .array(JSONPlace(index: index))
        case .number:
            tape.integer(index).map(JSONValue.integer) ?? tape.number(index).map(JSONValue.number) ?? .unreadable
        case .unreadable: .unreadable
        }
    }

    subscript(_ name: String) -> JSONValue? {
        fields[name]
    }

    /// The names of fields that are not among `known`, sorted.
    func names(besides known: Set<String>) -> [String] {
        fields.keys.filter { !known.contains($0) }.sorted()
    }

    /// The fields of a nested object.
    func object(at place: JSONPlace) -> JSONObject {
        JSONObject(tape, at: place)
    }

    /// The elements of a nested array.
    func elements(at place: JSONPlace) -> [JSONValue] {
        let content = tape.content(of: place.index)
        var elements: [JSONValue] = []
        var index = content.lowerBound
        while index < content.upperBound {
            elements.append(Self.value(tape, index))
            index = tape.next(after: index)
        }
        return elements
    }

    /// A nested value as it is written.
    func raw(at place: JSONPlace) -> String {
        String(decoding: tape.raw(place.index), as: UTF8.self)
    }
}
