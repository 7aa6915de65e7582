import Foundation

/// A value of a field, whatever JSON it is: Apple writes the numbers and flags of purchases as texts, most of the time.
enum AnswerScalar: Decodable {
    case null
    case text(String)
    case integer(Int64)
    case flag(Bool)
    /// Anything else: an object, a list, a fraction, a number that is too large.
    case other

    init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if value.decodeNil() {
            self = .null
        } else if let text = try? value.decode(String.self) {
            self = .text(text)
        } else if let integer = try? value.decode(Int64.self) {
            self = .integer(integer)
        } else if let flag = try? value.decode(Bool.self) {
            self = .flag(flag)
        } else {
            self = .other
        }
    }
}

/// What an answer says of one thing.
enum Stated<Value> {
    /// Nothing; an empty text says nothing either.
    case nothing
    /// That there is none: `null`.
    case none
    /// Something that cannot be read.
    case unreadable
    case value(Value)

    /// The value, where not knowing it does no harm.
    var known: Value? {
        if case .value(let value) = self { value } else { nil }
    }

    var isUnreadable: Bool {
        if case .unreadable = self { true } else { false }
    }
}

/// The fields of an object of an answer; reads only those that are asked for.
struct AnswerFields {
    enum Limit {
        /// Bytes of a text: product ids, the longest, have up to 255.
        static let text = 255
        /// Most that can be bought at once, as in receipts that are verified offline; StoreKit allows 10.
        static let quantity: Int64 = 1_000_000
    }

    struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(_ name: String) { stringValue = name }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    let container: KeyedDecodingContainer<Name>

    /// - Throws: when it is no object.
    init(_ decoder: any Decoder) throws {
        container = try decoder.container(keyedBy: Name.self)
    }

    func has(_ name: String) -> Bool { container.contains(Name(name)) }

    private func scalar(_ name: String) -> AnswerScalar? {
        guard has(name) else { return nil }
        return (try? container.decode(AnswerScalar.self, forKey: Name(name))) ?? .other
    }

    /// A text or an integer as a text, without control characters.
    func text(_ name: String) -> Stated<String> {
        switch scalar(name) {
        case nil, .text(""): .nothing
        case .null: .none
        case .integer(let number): .value(String(number))
        case .text(let text) where text.utf8.count <= Limit.text && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }:
            .value(text)
        default: .unreadable
        }
    }

    /// An id of Apple's: ASCII letters and digits.
    func identifier(_ name: String) -> Stated<String> {
        let text = text(name)
        guard case .value(let id) = text, (try? PathPart.identifier(id, nil)) == nil else { return text }
        return .unreadable
    }

    /// An integer, which may be a text.
    func integer(_ name: String) -> Stated<Int64> {
        switch scalar(name) {
        case nil, .text(""): .nothing
        case .null: .none
        case .integer(let number): .value(number)
        case .text(let text): Int64(text).map { .value($0) } ?? .unreadable
        default: .unreadable
        }
    }

    /// `true`, `"true"`, `1`, `"1"` and their opposites.
    func flag(_ name: String) -> Stated<Bool> {
        switch scalar(name) {
        case nil, .text(""): .nothing
        case .null: .none
        case .flag(let flag): .value(flag)
        case .integer(0), .text("0"), .text("false"): .value(false)
        case .integer(1), .text("1"), .text("true"): .value(true)
        default: .unreadable
        }
    }

    func quantity(_ name: String) -> Stated<Int> {
        switch integer(name) {
        case .value(let number) where (1...Limit.quantity).contains(number): .value(Int(number))
        case .value, .unreadable: .unreadable
        case .nothing: .nothing
        case .none: .none
        }
    }

    func uuid(_ name: String) -> Stated<UUID> {
        switch text(name) {
        case .value(let text): UUID(uuidString: text).map { .value($0) } ?? .unreadable
        case .unreadable: .unreadable
        case .nothing: .nothing
        case .none: .none
        }
    }

    /// An instant: `x_ms`, else `x`, else `x_formatted`, the first that can be read.
    ///
    /// `x_ms` is milliseconds since 1970, and what Apple wants one to use; `x` is `2014-11-12 15:10:33 Etc/GMT`, or
    /// milliseconds too in receipts of a single transaction, whose `x_formatted` is the other.
    func date(_ name: String) -> Stated<Date> {
        var result = Stated<Date>.nothing
        for name in [name + "_ms", name, name + "_formatted"] {
            let stated = instant(name)
            switch (result, stated) {
            case (_, .value): return stated
            case (.nothing, _), (.none, .unreadable): result = stated
            default: break
            }
        }
        return result
    }

    private func instant(_ name: String) -> Stated<Date> {
        switch text(name) {
        case .value(let text): Self.instant(text).map { .value($0) } ?? .unreadable
        case .unreadable: .unreadable
        case .nothing: .nothing
        case .none: .none
        }
    }

    private static func instant(_ text: String) -> Date? {
        if let number = Int64(text) {
            guard (0...RetryAfter.Limit.latest).contains(number) else { return nil }
            return Date(timeIntervalSince1970: Double(number) / 1_000)
        }
        let parts = text.split(separator: " ")
        guard parts.count == 3, parts[2] == "Etc/GMT" else { return nil }
        return try? Date("\(parts[0])T\(parts[1])Z", strategy: .iso8601)
    }
}
