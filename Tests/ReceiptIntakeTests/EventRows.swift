import Foundation
import HTTPTypes
import Messages
import Persistence
import Postgres
import PurchaseModel
import ServiceRuntime
import Testing

@testable import ReceiptIntake

/// Events, as fulfillment writes and numbers them.
struct EventRows: Sendable {
    let pool: PostgresPool

    static func draft(
        _ type: String = "iap.transaction.fulfilled", account: String? = "player-1",
        environment: StoreEnvironment = .production, app: String = TestIntake.app,
        payload: PurchaseEvent.Payload = PurchaseEvent.Payload(
            transaction: nil, entries: [Catalogue.ItemGrant(item: "gem", amount: 1)])
    ) -> EventDraft {
        EventDraft(
            type: type, environment: environment, app: app, account: account.map { Account(stored: $0) },
            correlationId: "req_secret", payload: payload)
    }

    /// Writes events that nobody has numbered yet; their ids in order.
    @discardableResult
    func write(_ drafts: [EventDraft]) async throws -> [String] {
        try await pool.withTransaction { connection in
            try await EventStore.write(drafts, lease: .seconds(600), on: connection).map(\.id)
        }
    }

    /// The same, and gives them positions.
    @discardableResult
    func tell(_ drafts: EventDraft...) async throws -> [String] {
        let ids = try await write(drafts)
        try await number()
        return ids
    }

    func number() async throws {
        while try await EventPositionStore(pool: pool).number().isMoreDue {}
    }

    /// Has every event that is there dropped, as retention does when its month is over.
    func expire() async throws {
        try await pool.withConnection { connection in
            try await connection.executeScript(
                """
                DELETE FROM events;
                INSERT INTO retention_marks (name, dropped_before) VALUES ('events', now() + interval '1 second')
                """)
        }
    }
}

extension TestIntake {
    /// Pulls events as the game's backend.
    func pull(_ query: String = "", token: String? = TestIntake.key(.read)) async throws -> Answer {
        try await send(.get, "/v1/events?app=\(Self.app)&\(query)", token: token)
    }
}

extension TestIntake.Answer {
    /// Ids of the events of a page.
    var eventIds: [String] { events.compactMap { $0["id"] as? String } }
    /// The events of a page.
    var events: [[String: Any]] { fields["data"] as? [[String: Any]] ?? [] }
    var next: String { fields["next"] as? String ?? "" }
    var isMore: Bool? { fields["has_more"] as? Bool }
}

/// Requests for events, well and badly, with what really came back.
enum EventSamples {
    static func all(_ intake: TestIntake, _ database: TestDatabase) async throws -> [SampleRequest.Sample] {
        let rows = EventRows(pool: database.pool)
        try await rows.tell(EventRows.draft(), EventRows.draft(account: nil), EventRows.draft(environment: .sandbox))
        var samples: [SampleRequest.Sample] = []
        func pull(_ query: String, _ token: String? = TestIntake.serverKey) async throws {
            samples.append(("GET", "/v1/events", try await intake.pull(query, token: token)))
        }
        let player = try ReadingFixture.player()
        for query in [
            "", "limit=2", "after=now", "types=none", "after=x", "limit=0", "types=a**", "wait=31", "account=",
        ] {
            try await pull(query)
        }
        for token in [nil, player, TestIntake.key(.post)] { try await pull("", token) }
        func follow(_ path: String, _ token: String?) async throws {
            samples.append(("GET", "/v1/accounts/{id}/events", try await intake.send(.get, path, token: token)))
        }
        for token in [TestIntake.serverKey, player, nil, TestIntake.key(.post)] {
            try await follow("/v1/accounts/player-1/events?app=\(TestIntake.app)", token)
        }
        try await follow("/v1/accounts/player-2/events?app=\(TestIntake.app)", player)
        try await follow("/v1/accounts/player-1/events?app=\(TestIntake.app)&after=x", player)
        let odd = try await intake.send(
            .get, "/v1/accounts/player-1/events?app=\(TestIntake.app)", token: player, headers: [.lastEventId: "x"])
        #expect(odd.status == 422 && odd.fields["field"] as? String == "Last-Event-ID", "\(odd.text)")
        samples.append(("GET", "/v1/accounts/{id}/events", odd))
        try await rows.expire()
        let before = EventCursor.text(1)
        try await pull("after=\(before)")
        try await follow("/v1/accounts/player-1/events?app=\(TestIntake.app)&after=\(before)", player)
        // What other samples look at is as it was.
        _ = try await database.pool.query("DELETE FROM retention_marks")
        return samples
    }
}
