import Foundation

/// A value of JSON or YAML, as stories compare and pass them on.
enum StoryValue: Sendable, Equatable {
    case null
    case flag(Bool)
    case whole(Int64)
    case number(Double)
    case text(String)
    case list([StoryValue])
    case map([String: StoryValue])

    /// Reads JSON; nil when the bytes are something else.
    init?(json data: Data) {
        guard let value = try? JSONDecoder().decode(StoryValue.self, from: data) else { return nil }
        self = value
    }

    /// Equal as JSON is: 1 and 1.0 are the same number.
    static func == (left: StoryValue, right: StoryValue) -> Bool {
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

    var text: String? {
        if case .text(let text) = self { text } else { nil }
    }

    var list: [StoryValue]? {
        if case .list(let list) = self { list } else { nil }
    }

    var map: [String: StoryValue]? {
        if case .map(let map) = self { map } else { nil }
    }

    subscript(key: String) -> StoryValue? { map?[key] }

    /// As it stands within a longer text: texts as they are, the rest as JSON.
    var plain: String { text ?? json }

    /// One line of JSON with sorted keys.
    var json: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(self) else { return "null" }
        return String(decoding: data, as: UTF8.self)
    }

    /// For people: JSON, cut where it gets long; a signed payload is only called one.
    var shown: String {
        let text = withoutSignedPayloads.json
        return text.count <= 300 ? text : text.prefix(300) + "…"
    }

    private var withoutSignedPayloads: StoryValue {
        switch self {
        case .text(let text) where SignedPayload.looksLikeOne(text): .text("(a signed payload)")
        case .text(let text) where text.count > 500: .text("(\(text.count) characters)")
        case .list(let list): .list(list.map(\.withoutSignedPayloads))
        case .map(let map): .map(map.mapValues(\.withoutSignedPayloads))
        default: self
        }
    }
}

extension StoryValue: Codable {
    init(from decoder: any Decoder) throws {
        // Most frequent first: a refused attempt costs time.
        let container = try decoder.singleValueContainer()
        if let text = try? container.decode(String.self) {
            self = .text(text)
        } else if let map = try? container.decode([String: StoryValue].self) {
            self = .map(map)
        } else if let list = try? container.decode([StoryValue].self) {
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

/// Looks into compact JWS without checking it: stories read what the simulator signed; checking is others' work.
enum SignedPayload {
    /// Whether a text has the three parts of a compact JWS, the first of them JSON.
    static func looksLikeOne(_ text: String) -> Bool {
        text.hasPrefix("eyJ") && text.count(where: { $0 == "." }) == 2
    }

    /// The payload; nil when the text is no JWS with JSON inside.
    static func decode(_ text: String) -> StoryValue? {
        guard looksLikeOne(text) else { return nil }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        var base64 = parts[1].replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        base64 += String(repeating: "=", count: (4 - base64.count % 4) % 4)
        return Data(base64Encoded: base64).flatMap(StoryValue.init(json:))
    }
}
