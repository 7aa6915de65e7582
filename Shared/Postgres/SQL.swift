/// A statement, or a part of one, with its values.
///
/// What is interpolated is bound, never pasted in: `"SELECT state FROM orders WHERE id = \(id)"` is sent as
/// `SELECT state FROM orders WHERE id = $1` with the value beside it, and its type (``PostgresEncodable``), so that a cast is
/// seldom needed. An `SQL` that is interpolated becomes a part of it, with its values. The text depends on the literals alone:
/// a statement is prepared once, however its values change.
public struct SQL: ExpressibleByStringInterpolation, Sendable {
    /// What makes several places one parameter.
    private final class Identity: Sendable {}

    private struct Bound {
        let value: PostgresValue
        var identity: Identity?
    }

    /// The text before, between and after the values: one more than these.
    private var texts: [String]
    private var values: [Bound]

    private init(texts: [String], values: [Bound]) {
        self.texts = texts
        self.values = values
    }

    /// SQL without values.
    public init(stringLiteral text: String) {
        self.init(texts: [text], values: [])
    }

    /// SQL with what was interpolated.
    public init(stringInterpolation: StringInterpolation) {
        self = stringInterpolation.sql
    }

    /// An array that is sent once, however often a statement has it.
    public static func once<Element: PostgresEncodable>(_ values: [Element]) -> SQL {
        SQL(texts: ["", ""], values: [Bound(value: Element.postgresArray(values), identity: Identity())])
    }

    /// A value that is sent once, however often a statement has it: a long text, or what a statement compares with everywhere.
    public static func once<Value: PostgresEncodable>(_ value: Value?) -> SQL {
        SQL(texts: ["", ""], values: [Bound(value: .scalar(value), identity: Identity())])
    }

    /// Text with `$1`, `$2` … and the values for it.
    var statement: (text: String, parameters: [PostgresValue]) {
        guard !values.isEmpty else { return (texts[0], []) }
        var text = texts[0]
        var parameters: [PostgresValue] = []
        parameters.reserveCapacity(values.count)
        var numbers: [ObjectIdentifier: Int] = [:]
        for (bound, rest) in zip(values, texts.dropFirst()) {
            let identity = bound.identity.map { ObjectIdentifier($0) }
            let known = identity.flatMap { numbers[$0] }
            if known == nil { parameters.append(bound.value) }
            let number = known ?? parameters.count
            if let identity { numbers[identity] = number }
            text += "$\(number)"
            text += rest
        }
        return (text, parameters)
    }

    /// What is in a literal, one piece after the other.
    public struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var sql = SQL(texts: [""], values: [])

        /// Begins with nothing.
        public init(literalCapacity: Int, interpolationCount: Int) {
            sql.texts.reserveCapacity(interpolationCount + 1)
            sql.values.reserveCapacity(interpolationCount)
        }

        /// Text that stands in the program.
        public mutating func appendLiteral(_ literal: String) {
            sql.texts[sql.texts.count - 1] += literal
        }

        /// Another part, with its values.
        public mutating func appendInterpolation(_ part: SQL) {
            appendLiteral(part.texts[0])
            sql.values += part.values
            sql.texts += part.texts.dropFirst()
        }

        /// Text as it is, such as the name of a table: never what came from outside.
        public mutating func appendInterpolation(unescaped text: String) {
            appendLiteral(text)
        }

        /// A value; nil is NULL.
        public mutating func appendInterpolation<Value: PostgresEncodable>(_ value: Value?) {
            appendInterpolation(.scalar(value))
        }

        /// An array.
        public mutating func appendInterpolation<Element: PostgresEncodable>(_ values: [Element]) {
            appendInterpolation(Element.postgresArray(values))
        }

        /// An array in which nil is NULL.
        public mutating func appendInterpolation<Element: PostgresEncodable>(_ values: [Element?]) {
            appendInterpolation(Element.postgresArray(values))
        }

        /// JSON text as `jsonb`; nil is NULL.
        public mutating func appendInterpolation(json text: String?) {
            appendInterpolation(.jsonb(text))
        }

        /// JSON texts as `jsonb[]`.
        public mutating func appendInterpolation(json texts: [String?]) {
            appendInterpolation(.jsonbArray(texts))
        }

        /// A parameter.
        public mutating func appendInterpolation(_ value: PostgresValue) {
            sql.values.append(Bound(value: value))
            sql.texts.append("")
        }
    }
}

extension Sequence<SQL> {
    /// All parts, with something between them: conditions with ` AND `.
    public func joined(separator: SQL) -> SQL {
        reduce(into: nil as SQL?) { whole, part in whole = whole.map { "\($0)\(separator)\(part)" } ?? part } ?? ""
    }
}

extension SQL: CustomStringConvertible {
    /// The text, without the values.
    public var description: String { statement.text }
}
