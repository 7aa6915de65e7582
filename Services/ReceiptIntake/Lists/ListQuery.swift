import Foundation
import HummingbirdCore
import Persistence
import PurchaseModel
import ServiceRuntime

/// What the queries of lists say.
enum ListQuery {
    enum Limit {
        /// Unicode scalars of a text.
        static let text = 255
        /// Characters of a word, such as a reason.
        static let word = 100
        /// Seconds of an age: some three years.
        static let age = 100_000_000
    }

    /// `?after=` of a list that is sorted by a time or a number, and by an id.
    ///
    /// - Throws: `ProblemDetails` for what is none of our cursors.
    static func position(_ request: Request) throws -> ListPosition? {
        try ListCursor.position(request, position)
    }

    /// A position as callers hold it.
    static func cursor(_ position: ListPosition) -> String {
        ListCursor.text("\(position.number)", "\(position.environment) \(position.id)")
    }

    static func position(_ number: String, _ rest: String) -> ListPosition? {
        guard let number = ListCursor.microseconds(number), let space = rest.firstIndex(of: " ") else { return nil }
        let (environment, id) = (String(rest[..<space]), String(rest[rest.index(after: space)...]))
        guard environment.isEmpty || StoreEnvironment(rawValue: environment) != nil else { return nil }
        return ListPosition(number: number, id: id, environment: environment)
    }

    /// `?environment=`; nil for both, and the sandbox for a test key.
    ///
    /// - Throws: `ProblemDetails` for another word, and for production with a test key.
    static func environment(_ request: Request, of caller: Caller) throws -> StoreEnvironment? {
        try caller.environmentOfRows(ReadingQuery.text("environment", in: request))
    }

    /// A text of one line; nil where there is none.
    ///
    /// - Throws: `ProblemDetails` for what is none.
    static func text(_ name: String, in request: Request) throws -> String? {
        guard let text = ReadingQuery.text(name, in: request) else { return nil }
        guard PrintableText.isOne(text, lengthMaximum: Limit.text) else {
            throw ProblemDetails.fieldInvalid(name, "1 to \(Limit.text) characters without control characters")
        }
        return text
    }

    /// `?account=`; nil where there is none.
    ///
    /// - Throws: `ProblemDetails` for what is no name.
    static func account(_ request: Request) throws -> Account? {
        guard let text = ReadingQuery.text("account", in: request) else { return nil }
        guard let account = Account(text) else {
            throw ProblemDetails.fieldInvalid("account", "1 to 255 printable characters")
        }
        return account
    }

    /// A word of ASCII, such as a reason or a type of notification; nil where there is none.
    ///
    /// - Throws: `ProblemDetails` for what is none.
    static func word(_ name: String, in request: Request) throws -> String? {
        guard let text = ReadingQuery.text(name, in: request) else { return nil }
        let isWord = text.utf8.allSatisfy {
            switch $0 {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
        guard isWord, (1...Limit.word).contains(text.utf8.count) else {
            throw ProblemDetails.fieldInvalid(name, "1 to \(Limit.word) letters, digits and underscores")
        }
        return text
    }

    /// One of some words; nil where there is none.
    ///
    /// - Throws: `ProblemDetails` for another word.
    static func choice<Value: RawRepresentable<String> & CaseIterable>(
        _ name: String, in request: Request, as type: Value.Type = Value.self
    ) throws -> Value? {
        guard let text = ReadingQuery.text(name, in: request) else { return nil }
        guard let value = Value(rawValue: text) else {
            let names = Value.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
            throw ProblemDetails.fieldInvalid(name, "one of \(names)")
        }
        return value
    }

    /// A time by RFC 3339, or a day; nil where there is none.
    ///
    /// - Throws: `ProblemDetails` for what is none.
    static func time(_ name: String, in request: Request) throws -> Date? {
        guard let text = ReadingQuery.text(name, in: request) else { return nil }
        guard let time = WebhookSelection.time(text) else {
            throw ProblemDetails.fieldInvalid(name, "a time by RFC 3339, or a day")
        }
        return time
    }

    /// `?older_than=`: seconds.
    ///
    /// - Throws: `ProblemDetails` for anything but a whole number up to the maximum.
    static func olderThan(_ request: Request) throws -> Duration? {
        guard let text = ReadingQuery.text("older_than", in: request) else { return nil }
        guard ReadingQuery.isDigits(text), let seconds = Int(text), seconds <= Limit.age else {
            throw ProblemDetails.fieldInvalid("older_than", "a whole number of seconds from 0 to \(Limit.age)")
        }
        return .seconds(seconds)
    }
}

extension ListAnswer {
    /// A page as it is answered.
    init<Row>(_ page: ListPage<Row>, _ item: (Row) throws -> Item) rethrows {
        data = try page.rows.map(item)
        next = page.next.map(ListQuery.cursor)
    }

    /// All there is, on one page.
    init(all items: [Item]) {
        data = items
        next = nil
    }
}
