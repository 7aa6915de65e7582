import Foundation

/// Any value of JSON, or of a story's YAML.
enum JSONValue: Sendable, Equatable {
    case null
    case flag(Bool)
    case whole(Int64)
    case number(Double)
    case text(String)
    case list([JSONValue])
    case map([String: JSONValue])

    /// Reads JSON; nil when the bytes are something else.
    init?(json data: Data) {
        guard let value = try? JSONDecoder().decode(JSONValue.self, from: data) else { return nil }
        self = value
    }

    /// Equal as JSON is: 1 and 1.0 are the same number.
    static func == (left: JSONValue, right: JSONValue) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.flag(let left), .flag(let right)): left == right
        case (.whole(let left), .whole(let right)): left == right
        case (.text(let left), .text(let right)): left == right
        case (.list(let left), .list(let right)): left == right
        case (.map(let left), .map(let right)): left == right
        default:
            if let left = left.double, let right = right.double { left == right } else { false }
        }
    }

    /// The number; nil for everything else.
    var double: Double? {
        switch self {
        case .whole(let number): Double(number)
        case .number(let number): number
        default: nil
        }
    }

    var isNull: Bool { self == .null }

    var whole: Int64? {
        if case .whole(let number) = self { number } else { nil }
    }

    var flag: Bool? {
        if case .flag(let flag) = self { flag } else { nil }
    }

    var text: String? {
        if case .text(let text) = self { text } else { nil }
    }

    var list: [JSONValue]? {
        if case .list(let list) = self { list } else { nil }
    }

    var map: [String: JSONValue]? {
        if case .map(let map) = self { map } else { nil }
    }

    subscript(key: String) -> JSONValue? { map?[key] }

    /// As it stands within a longer text: texts as they are, the rest as JSON.
    var plain: String { text ?? json }

    /// One line of JSON with sorted keys.
    var json: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(self) else { return "null" }
        return String(decoding: data, as: UTF8.self)
    }
}

extension JSONValue: Codable {
    init(from decoder: any Decoder) throws {
        // Most frequent first: a refused attempt costs time.
        let container = try decoder.singleValueContainer()
        if let text = try? container.decode(String.self) {
            self = .text(text)
        } else if let map = try? container.decode([String: JSONValue].self) {
            self = .map(map)
        } else if let list = try? container.decode([JSONValue].self) {
            self = .list(list)
        } else if let flag = try? container.decode(Bool.self) {
            self = .flag(flag)
        } else if let whole = try? container.decode(Int64.self) {
            self = .whole(whole)
        } else if let number = try? container.decode(Double.self) {
            self = .number(number)
        } else if container.decodeNil() {
            self = .null
        } else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "a value of JSON")
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .flag(let value): try container.encode(value)
        case .whole(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .text(let value): try container.encode(value)
        case .list(let value): try container.encode(value)
        case .map(let value): try container.encode(value)
        }
    }
}
