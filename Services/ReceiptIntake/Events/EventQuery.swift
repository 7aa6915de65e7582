import Hummingbird
import HummingbirdCore
import Persistence
import PurchaseModel
import ServiceRuntime

/// What requests for events ask for.
struct EventQuery: Sendable {
    enum Limit {
        /// Events of a page when the caller does not say.
        static let eventsDefault = 100
        /// Patterns of types in one request.
        static let types = 20
        /// Unicode scalars of a pattern.
        static let typeLength = 255
    }

    /// Where the reader is.
    enum Start: Sendable, Hashable {
        /// Before the oldest event that is there.
        case oldest
        /// After the newest.
        case now
        case after(Int64)
    }

    /// The word in place of a cursor for a reader who wants what comes from now on.
    static let nowWord = "now"

    let filter: EventFilter
    let limit: Int
    /// Nil where the caller does not say.
    let start: Start?

    /// - Parameter account: whose events alone; nil where the query may name one.
    /// - Throws: `ProblemDetails`.
    @inline(never)
    init(_ request: Request, of caller: Caller, account: Account?) throws {
        func text(_ name: String) -> String? { ReadingQuery.text(name, in: request) }
        let environment = text("environment")
        var filter = EventFilter(
            app: caller.app,
            environment: account == nil
                ? try caller.environmentOfRows(environment) : try caller.environment(environment))
        filter.account = account
        if account == nil, let name = text("account") {
            guard let named = Account(name) else {
                throw ProblemDetails.fieldInvalid("account", "1 to 255 printable characters")
            }
            filter.account = named
        }
        filter.types = try Self.types(text("types"))
        self.filter = filter
        limit = try Self.limit(text("limit"))
        start = try Self.start(text("after"), field: "after")
    }

    /// Where a cursor leads; nil where there is none.
    ///
    /// - Throws: `ProblemDetails` for what is no cursor of ours.
    static func start(_ text: String?, field: String) throws -> Start? {
        guard let text else { return nil }
        if text.isEmpty { return .oldest }
        if text == nowWord { return .now }
        guard let position = EventCursor.position(text) else {
            throw ProblemDetails.fieldInvalid(field, "a cursor of an answer before, as it was, or \"\(nowWord)\"")
        }
        return .after(position)
    }

    /// Whether a byte may be in a type's name, or is the `*` after it.
    private static func isOfType(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: ".-_*".utf8.contains(byte)
        }
    }

    private static func types(_ text: String?) throws -> [EventFilter.TypePattern] {
        guard let text, !text.isEmpty else { return [] }
        let names = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        let patterns = names.compactMap { name in
            name.utf8.count <= Limit.typeLength && name.utf8.allSatisfy(isOfType) ? EventFilter.TypePattern(name) : nil
        }
        guard names.count <= Limit.types, patterns.count == names.count else {
            throw ProblemDetails.fieldInvalid(
                "types", "1 to \(Limit.types) types of events with commas, each with a `*` at its end or none")
        }
        return patterns
    }

    private static func limit(_ text: String?) throws -> Int {
        guard let text else { return Limit.eventsDefault }
        guard text.utf8.count <= 4, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let limit = Int(text),
            (1...EventFeedStore.Limit.page).contains(limit)
        else { throw ProblemDetails.fieldInvalid("limit", "a whole number from 1 to \(EventFeedStore.Limit.page)") }
        return limit
    }
}

extension ProblemDetails {
    static let cursorExpired = ProblemDetails(
        .cursorExpired,
        "Events after it are gone: their retention is over. Read what accounts have now, and begin without one.")
}
