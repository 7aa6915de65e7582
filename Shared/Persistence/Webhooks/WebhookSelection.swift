package import Foundation
import Messages
import Postgres
package import PurchaseModel

/// Which deliveries somebody means: those that all of these are true of.
package struct WebhookSelection: Sendable, Equatable {
    /// The state that a delivery is in.
    package enum State: String, Sendable, CaseIterable {
        /// Given up.
        case abandoned
        /// Taken by its endpoint.
        case delivered
        /// Not taken yet, and tried again some time.
        case pending
        /// Any of these.
        case all
    }

    /// The event's id.
    package var event: String?
    /// The endpoint's id.
    package var endpoint: String?
    /// The event's type, or with a `*` at its end what it begins with.
    package var type: String?
    /// The event's app.
    package var app: String?
    /// The event's environment.
    package var environment: StoreEnvironment?
    /// Whose event it is.
    package var account: Account?
    /// What was taken before is meant only where this says so.
    package var state = State.abandoned
    /// The event was written then or later.
    package var since: Date?
    /// The event was written before then.
    package var until: Date?

    /// All that were given up.
    package init() {}

    /// Whether this is a type of events, or the beginning of some and a `*`.
    package static func isPattern(_ text: String) -> Bool {
        let name = text.hasSuffix("*") ? text.dropLast() : text[...]
        return !text.isEmpty && !name.contains("*") && !name.utf8.contains(0)
    }

    /// The time that a text means: RFC 3339, or a day, whose beginning in UTC it is; nil for anything else.
    package static func time(_ text: String) -> Date? {
        MessageCoding.strictDate(text.utf8.count == 10 ? text + "T00:00:00.000Z" : text)
    }
}

extension WebhookSelection: CustomStringConvertible {
    /// What is meant, for the audit log.
    package var description: String {
        let parts: [(String, String?)] = [
            ("state", state.rawValue), ("event", event), ("endpoint", endpoint), ("type", type), ("app", app),
            ("environment", environment?.rawValue), ("account", account?.text),
            ("since", since.map { MessageCoding.text($0) }), ("until", until.map { MessageCoding.text($0) }),
        ]
        return parts.compactMap { name, value in value.map { "\(name) \($0)" } }.joined(separator: ", ")
    }
}

/// A selection as SQL: what leads to rows by an index, and what is asked of each of them.
struct WebhookSelectionSQL {
    /// The event's clock and the database's may differ by as much; an id tells of the one, `created_at` of the other.
    private static let clockSlack: TimeInterval = 3_600

    /// Where rows are looked for: `FROM …`, of deliveries `d`.
    private(set) var source: SQL = "FROM webhook_deliveries d"
    /// True of the rows that are looked at.
    private(set) var reached: [SQL] = []
    /// True of a delivery `d` of an event `e` that is meant.
    private(set) var meant: [SQL] = []

    init(_ selection: WebhookSelection, after position: WebhookResendStore.Position?) {
        if let event = selection.event { reached.append("d.event_id = \(event)") }
        switch selection.state {
        // As it stands, so that the index of these is taken.
        case .abandoned: reached.append("d.state = 'abandoned'")
        case .delivered, .pending: meant.append("d.state = \(selection.state.rawValue)")
        case .all: break
        }
        if let account = selection.account { reachByAccount(account, app: selection.app) }
        if let position {
            reached.append("(d.event_id, d.endpoint_id) > (\(position.event), \(position.endpoint))")
        }
        addTimes(selection)
        if let endpoint = selection.endpoint { meant.append("d.endpoint_id = \(endpoint)") }
        if let app = selection.app { meant.append("e.app = \(app)") }
        if let environment = selection.environment {
            meant.append("e.environment = \(environment)")
        }
        if let type = selection.type {
            meant.append(
                type.hasSuffix("*")
                    ? "starts_with(e.type, \(String(type.dropLast())))" : "e.type = \(type)")
        }
    }

    /// An account has some events, and a delivery is found by its event.
    private mutating func reachByAccount(_ account: Account, app: String?) {
        let ofApp: SQL = app.map { " AND app = \($0)" } ?? ""
        // OFFSET 0: from the account's events to their deliveries, never the other way.
        source = """
            FROM (SELECT id FROM events WHERE account = \(account)\(ofApp) OFFSET 0) own
            CROSS JOIN LATERAL (SELECT * FROM webhook_deliveries WHERE event_id = own.id OFFSET 0) d
            """
    }

    /// Ids sort by time, which leads to the rows; `created_at` is exact.
    private mutating func addTimes(_ selection: WebhookSelection) {
        if let since = selection.since {
            reached.append("d.event_id >= \(EventIdentifier.eventFloor(at: since - Self.clockSlack))")
            meant.append("e.created_at >= \(since)")
        }
        if let until = selection.until {
            reached.append("d.event_id < \(EventIdentifier.eventFloor(at: until + Self.clockSlack))")
            meant.append("e.created_at < \(until)")
        }
    }
}
