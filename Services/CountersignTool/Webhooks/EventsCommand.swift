import ArgumentParser
import Foundation
import Messages
import Persistence
import PurchaseModel

/// `countersign events`: what the studio's backend would read, in its order.
struct EventsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "events",
        abstract: "Lists an app's events in the order of GET /v1/events, and follows them.",
        discussion: """
            It starts with the oldest event, after a cursor, or with --after now. The last line is the next cursor; \
            GET /v1/events uses the same cursors.
            """)

    /// How often it looks for more.
    private static let followInterval = Duration.milliseconds(500)

    @Option(help: "The app's bundle id.") var app: String
    @Option(help: "A cursor of before, or now.") var after: String?
    @Option(help: "Types of events with commas, each with * at its end or none.") var types: String?
    @Option(help: "production or sandbox; both without it.") var environment: StoreEnvironment?
    @Option(help: "Whose events alone: an account.") var account: Account?
    @Option(help: "The most to list.") var limit = 100
    @Flag(help: "Goes on with what comes, until it is interrupted.") var follow = false
    @Flag(help: "Prints JSON: one object, or with --follow an event a line.") var json = false

    func validate() throws {
        guard (1...EventFeedStore.Limit.page).contains(limit) else {
            throw ValidationError("--limit is from 1 to \(EventFeedStore.Limit.page)")
        }
        guard after.map({ $0 == "now" || EventCursor.position($0) != nil }) ?? true else {
            throw ValidationError("--after is a cursor of before, or now")
        }
        _ = try filter()
    }

    func run() async throws {
        try await failingPlainly {
            let filter = try filter()
            try await ToolSettings.load().withDatabase { pool in
                let store = EventFeedStore(pool: pool)
                do { try await list(filter, store) } catch is EventFeedStore.ExpiredError {
                    throw ToolFailure("the cursor is older than what is there: begin without --after")
                }
            }
        }
    }

    @inline(never)
    private func list(_ filter: EventFilter, _ store: EventFeedStore) async throws {
        var position: Int64?
        if after == "now" {
            position = try await store.newest()
        } else {
            position = after.flatMap(EventCursor.position)
        }
        var page = try await Self.page(filter, after: position, limit: limit, store)
        guard follow else { return print(json ? Self.json(page) : Self.text(page)) }
        while true {
            // Not print: what reads a pipe has each event at once.
            let lines = page.events.map { (json ? $0.body : Self.line($0)) + "\n" }.joined()
            try FileHandle.standardOutput.write(contentsOf: Data(lines.utf8))
            if !page.isMore { try await Task.sleep(for: Self.followInterval) }
            page = try await Self.page(filter, after: page.next, limit: limit, store)
        }
    }

    /// A page that has an event, unless there is none.
    @inline(never)
    private static func page(
        _ filter: EventFilter, after position: Int64?, limit: Int, _ store: EventFeedStore
    ) async throws -> EventFeedStore.Page {
        var page = try await store.page(filter, after: position, limit: limit)
        while page.events.isEmpty, page.isMore {
            page = try await store.page(filter, after: page.next, limit: limit)
        }
        return page
    }

    private func filter() throws -> EventFilter {
        let names = types?.split(separator: ",", omittingEmptySubsequences: false).map(String.init) ?? []
        let patterns = names.compactMap { EventFilter.TypePattern($0) }
        guard patterns.count == names.count else {
            throw ValidationError("--types are types with commas, with * at their end at most: 'iap.refund.*'")
        }
        return EventFilter(app: app, environment: environment, account: account, types: patterns)
    }

    /// The page as `GET /v1/events` answers.
    static func json(_ page: EventFeedStore.Page) -> String {
        let events = page.events.map(\.body).joined(separator: ",")
        return #"{"data":[\#(events)],"has_more":\#(page.isMore),"next":"\#(EventCursor.text(page.next))"}"#
    }

    static func text(_ page: EventFeedStore.Page) -> String {
        let rest = page.isMore ? "more follow: " : ""
        return (page.events.map(line) + ["\(rest)--after \(EventCursor.text(page.next))"]).joined(separator: "\n")
    }

    /// Time, type, environment, whose and its number, id.
    static func line(_ event: EventFeedStore.Event) -> String {
        guard let known = try? MessageCoding.decode(PurchaseEvent.self, from: Array(event.body.utf8)) else {
            return event.body
        }
        let owner = known.customer.map { "\($0.id) #\($0.sequence)" } ?? "nobody"
        return [
            MessageCoding.text(known.timestamp), ToolOutput.padded(known.type, 40), known.environment.rawValue, owner,
            known.id,
        ].joined(separator: "  ")
    }
}
