import Foundation

/// A value of an answer of intake's; what is not there is `null`, so that a page shows less rather than nothing.
enum JSON: Codable, Sendable, Equatable {
    case null
    case bool(Bool)
    case integer(Int64)
    case number(Double)
    case string(String)
    case list([JSON])
    case object([String: JSON])

    init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if value.decodeNil() {
            self = .null
        } else if let bool = try? value.decode(Bool.self) {
            self = .bool(bool)
        } else if let integer = try? value.decode(Int64.self) {
            self = .integer(integer)
        } else if let number = try? value.decode(Double.self) {
            self = .number(number)
        } else if let string = try? value.decode(String.self) {
            self = .string(string)
        } else if let list = try? value.decode([JSON].self) {
            self = .list(list)
        } else {
            self = .object(try value.decode([String: JSON].self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var value = encoder.singleValueContainer()
        switch self {
        case .null: try value.encodeNil()
        case .bool(let bool): try value.encode(bool)
        case .integer(let integer): try value.encode(integer)
        case .number(let number): try value.encode(number)
        case .string(let string): try value.encode(string)
        case .list(let list): try value.encode(list)
        case .object(let object): try value.encode(object)
        }
    }

    subscript(_ name: String) -> JSON {
        guard case .object(let members) = self else { return .null }
        return members[name] ?? .null
    }

    /// The values of a list; none of anything else.
    var list: [JSON] {
        guard case .list(let values) = self else { return [] }
        return values
    }

    /// A text, or a number or a truth as one; nil for `null`, lists and objects.
    var text: String? {
        switch self {
        case .string(let text): text
        case .integer(let integer): String(integer)
        case .number(let number): String(number)
        case .bool(let bool): String(bool)
        case .null, .list, .object: nil
        }
    }

    var integer: Int64? {
        guard case .integer(let integer) = self else { return nil }
        return integer
    }

    var isTrue: Bool { self == .bool(true) }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByDictionaryLiteral {
    init(stringLiteral value: String) { self = .string(value) }
    init(booleanLiteral value: Bool) { self = .bool(value) }
    init(dictionaryLiteral elements: (String, JSON)...) {
        self = .object(Dictionary(elements) { _, last in last })
    }
}
