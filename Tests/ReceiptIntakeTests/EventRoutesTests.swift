import Foundation
import HTTPTypes
import Messages
import Persistence
import Postgres
import PurchaseModel
import ServiceRuntime
import Testing

@testable import ReceiptIntake

/// Events are pulled in one order, by whom they concern, and no reader misses one.
@Suite(
    "Pulled events",
    .enabled(if: TestDatabase.serverURL != nil, TestDatabase.skipComment), .timeLimit(.minutes(1)))
struct EventRoutesTests {
    private static func with(
        settings: [String: String] = [:], _ body: @escaping @Sendable (TestIntake, EventRows) async throws -> Void
    ) async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url, settings: settings) { intake in
                try await body(intake, EventRows(pool: database.pool))
            }
        }
    }

    @Test("pages follow each other, and a page read again is the same")
    func pages() async throws {
        try await Self.with { (intake, rows) async throws in
            var ids: [String] = []
            for _ in 0..<3 { ids += try await rows.tell(EventRows.draft(), EventRows.draft(account: nil)) }
            let first = try await intake.pull("limit=4")
            #expect(first.status == 200 && first.eventIds == Array(ids.prefix(4)) && first.isMore == true)
            #expect(first.headers[.cacheControl] == "no-store")
            let second = try await intake.pull("limit=4&after=\(first.next)")
            #expect(second.eventIds == Array(ids.suffix(2)) && second.isMore == false)
            #expect(try await intake.pull("limit=4&after=\(first.next)").eventIds == second.eventIds)
            let third = try await intake.pull("after=\(second.next)")
            #expect(third.status == 200 && third.eventIds.isEmpty && third.isMore == false)
            let later = try await rows.tell(EventRows.draft())
            #expect(try await intake.pull("after=\(third.next)").eventIds == later)
            #expect(try await intake.pull("after=").eventIds == ids + later)
            #expect(try await intake.pull("after=now").eventIds.isEmpty)
        }
    }

    @Test("an event is the bytes that its webhook has")
    func bytes() async throws {
        try await Self.with { (intake, rows) async throws in
            try await rows.tell(EventRows.draft())
            let stored = try await rows.pool.query("SELECT body FROM events").rows[0].decode("body", as: String.self)
            #expect(try await intake.pull().text.hasPrefix(#"{"events":[\#(stored)],"more":false,"next":""#))
        }
    }

    @Test("a reader gets the events that are meant, and goes past the others")
    func filters() async throws {
        try await Self.with { (intake, rows) async throws in
            let ids = try await rows.tell(
                EventRows.draft("iap.subscription.renewed"), EventRows.draft("iap.refund.granted", account: "player-2"),
                EventRows.draft("iap.subscription_renewed", environment: .sandbox), EventRows.draft(account: nil),
                EventRows.draft(account: "player-1", app: TestIntake.otherApp))
            func read(_ query: String) async throws -> [String] { try await intake.pull(query).eventIds }
            #expect(try await read("") == Array(ids.prefix(4)))
            #expect(try await read("types=iap.subscription.*") == [ids[0]])
            #expect(try await read("types=iap.subscription.renewed,iap.refund.*") == Array(ids.prefix(2)))
            #expect(try await read("types=iap.subscription").isEmpty)
            #expect(try await intake.pull("types=iap%25").slug == "field-invalid", "no type has a %")
            #expect(try await read("types=iap.subscription_*") == [ids[2]], "_ means itself")
            #expect(try await read("environment=sandbox") == [ids[2]])
            #expect(try await read("account=player-2") == [ids[1]])
            #expect(try await read("account=player-1&environment=production") == [ids[0]])
            let passed = try await intake.pull("types=none")
            #expect(try await intake.pull("after=\(passed.next)").eventIds.isEmpty, "the cursor went past the others")
            #expect(
                try await intake.send(.get, "/v1/events?app=\(TestIntake.otherApp)", token: TestIntake.otherServerKey)
                    .eventIds == [ids[4]])
        }
    }

    @Test("nobody reads what is another's")
    func forbidden() async throws {
        try await Self.with { (intake, rows) async throws in
            try await rows.tell(EventRows.draft())
            let own = "/v1/accounts/player-1/events?app=\(TestIntake.app)"
            let other = try ReadingFixture.player("player-2")
            #expect(try await intake.pull(token: nil).slug == "authentication-required")
            #expect(try await intake.pull(token: ReadingFixture.player()).slug == "server-key-required")
            #expect(try await intake.pull(token: TestIntake.key(.operate)).slug == "scope-missing")
            #expect(try await intake.pull(token: TestIntake.otherServerKey).slug == "authentication-failed")
            for headers: HTTPFields in [[:], [.accept: "text/event-stream"]] {
                #expect(try await intake.send(.get, own, token: other, headers: headers).slug == "not-found")
                #expect(
                    try await intake.send(.get, own, token: nil, headers: headers).slug == "authentication-required")
                #expect(
                    try await intake.send(.get, own, token: TestIntake.key(.post), headers: headers).slug
                        == "scope-missing")
            }
        }
    }

    @Test("a player reads of the own events what the own orders tell, and no more")
    func player() async throws {
        try await Self.with { (intake, rows) async throws in
            var transaction = Transaction(
                environment: .production, transactionId: "1", originalTransactionId: "1", bundleId: TestIntake.app,
                productId: "pro", productType: .nonConsumable, quantity: 1, purchaseDate: Date(), signedDate: Date())
            transaction.appAccountToken = UUID()
            transaction.appTransactionId = "secret-customer"
            let binding = BindingChange(
                from: Account(stored: "secret-other"), to: Account(stored: "player-1"), cause: .transfer)
            try await rows.tell(
                EventRows.draft(
                    "iap.customer.transferred",
                    payload: PurchaseEvent.Payload(
                        transaction: transaction, state: .granted, entitlements: ["pro"], binding: binding)))
            let path = "/v1/accounts/player-1/events?app=\(TestIntake.app)"
            let whole = try await intake.send(.get, path, token: TestIntake.key(.read))
            #expect(whole.text.contains("secret-other") && whole.text.contains("secret-customer"))
            let own = try await intake.send(.get, path, token: ReadingFixture.player())
            #expect(own.eventIds == whole.eventIds && own.eventIds.count == 1 && own.next == whole.next)
            #expect(!own.text.contains("secret") && !own.text.contains("token") && !own.text.contains("correlation"))
            let data = try #require(own.events.first?["data"] as? [String: Any])
            #expect((data["transaction"] as? [String: Any])?["product_id"] as? String == "pro")
            #expect((data["binding"] as? [String: String]) == ["cause": "transfer", "to": "player-1"])
            #expect(data["entitlements"] as? [String] == ["pro"])
        }
    }

    @Test("a cursor whose events were dropped is 410, and without one the reader begins anew")
    func expired() async throws {
        try await Self.with { (intake, rows) async throws in
            try await rows.tell(EventRows.draft())
            let cursor = try await intake.pull().next
            try await rows.expire()
            let gone = try await intake.pull("after=\(cursor)")
            #expect(gone.status == 410 && gone.slug == "cursor-expired")
            #expect(try await intake.pull().status == 200)
            for bad in ["x", "MTo", "MToxLjU", "Mjox", EventCursor.text(1) + "A", String(repeating: "a", count: 61)] {
                #expect(try await intake.pull("after=\(bad)").slug == "field-invalid", "\(bad)")
            }
        }
    }

    @Test("a reader who waits has an event that is meant as soon as it has a place, and others' do not end the wait")
    func waiting() async throws {
        try await Self.with { (intake, rows) async throws in
            try await rows.tell(EventRows.draft())
            let cursor = try await intake.pull().next
            async let all = intake.pull("after=\(cursor)&wait=30")
            async let refunds = intake.pull("after=\(cursor)&wait=30&types=iap.refund.*")
            async let own = intake.send(
                .get, "/v1/accounts/player-2/events?app=\(TestIntake.app)&after=\(cursor)&wait=30",
                token: ReadingFixture.player("player-2"))
            let first = try await rows.tell(EventRows.draft())
            #expect(try await all.eventIds == first)
            let refund = try await rows.tell(EventRows.draft("iap.refund.granted", account: "player-2"))
            #expect(try await refunds.eventIds == refund)
            #expect(try await own.eventIds == refund)
        }
    }

    @Test("nobody waits in vain, whenever the event comes beside the beginning of the wait")
    func wakes() async throws {
        let arrived = Mutexed<[EventFeedStore.Arrival]>([])
        let tail = EventTail { after in arrived.withLock { $0.filter { $0.position > after } } }
        for position in Int64(1)...200 {
            async let end = tail.wait(
                for: EventFilter(app: "a"), after: position - 1, within: .seconds(30), connection: nil)
            arrived.withLock {
                $0.append(
                    EventFeedStore.Arrival(
                        position: position, app: "a", environment: "production", account: nil, type: "t"))
            }
            // A look before the wait has begun sees nobody; another comes, as it does in the process.
            let looks = Task {
                while !Task.isCancelled {
                    try await tail.look()
                    await Task.yield()
                }
            }
            #expect(await end == .arrival)
            looks.cancel()
        }
    }
}
