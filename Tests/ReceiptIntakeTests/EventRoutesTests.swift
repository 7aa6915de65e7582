import Foundation
import HTTPTypes
import Messages
import Postgres
import PurchaseModel
import ServiceRuntime
import Testing

@testable import Persistence
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
            #expect(try await intake.pull().text.hasPrefix(#"{"data":[\#(stored)],"has_more":false,"next":""#))
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
            let whole = try await intake.pull()
            #expect(
                try await intake.pull("after=\(whole.next)").status == 200,
                "nothing came for as long as events are kept")
            #expect(try await intake.pull("after=now").status == 200)
            for bad in [
                "x", "MTo", "MToxLjU", "Mjox", EventCursor.text(1) + "A", String(repeating: "a", count: 61),
                EventCursor.text(-1), EventCursor.text(.min), Self.cursor("1:9223372036854775808"),
                Self.cursor("1:+1"), Self.cursor("1:01"), Self.cursor("1:"), Self.cursor("1:1e3"), "%00",
                "%F0%9F%92%8E",
            ] {
                #expect(try await intake.pull("after=\(bad)").slug == "field-invalid", "\(bad)")
                let last: HTTPFields = [.accept: "text/event-stream", .lastEventId: bad]
                let stream = try await intake.send(
                    .get, "/v1/accounts/player-1/events?app=\(TestIntake.app)", token: ReadingFixture.player(),
                    headers: last)
                #expect(stream.slug == "field-invalid", "\(bad)")
            }
        }
    }

    private static func cursor(_ text: String) -> String {
        Data(text.utf8).base64EncodedString().replacing("=", with: "")
    }

    @Test(
        "a cursor beyond the newest event is read as the newest, as after a restore, and nothing that comes is missed")
    func beyond() async throws {
        try await Self.with { (intake, rows) async throws in
            try await rows.tell(EventRows.draft())
            let newest = try await intake.pull().next
            let now = try #require(EventCursor.position(newest))
            // A restored database may be on a machine whose clock is behind: what it has later is before this cursor.
            for ahead in [now + 1, now + 3_600_000_000, .max] {
                let cursor = EventCursor.text(ahead)
                let before = try await intake.pull("after=\(cursor)")
                #expect(before.status == 200 && before.eventIds.isEmpty && before.isMore == false)
                let account = "/v1/accounts/player-1/events?app=\(TestIntake.app)&after=\(cursor)"
                let own = try await intake.send(.get, account, token: ReadingFixture.player())
                #expect(own.status == 200 && own.next == before.next, "\(own.text)")
                async let waiting = intake.pull("after=\(cursor)&wait=30")
                let told = try await rows.tell(EventRows.draft())
                #expect(try await intake.pull("after=\(before.next)").eventIds == told)
                // It began before the event came, or after.
                #expect(try await [told, []].contains(waiting.eventIds))
            }
            #expect(try await intake.pull("after=\(newest)").eventIds.count == 3)
        }
    }

    @Test("whatever position a reader makes up, others wait: only a look ends a wait early, and finds what is for each")
    func madeUp() async throws {
        let reads = Mutexed<[Int64]>([])
        let tail = EventTail { after in
            reads.withLock { $0.append(after) }
            return after >= 6
                ? []
                : [
                    EventFeedStore.Arrival(
                        position: 6, app: "a", environment: "production", account: nil, type: "t")
                ]
        }
        func wait(after position: Int64) -> Task<EventTail.End, Never> {
            Task {
                await tail.wait(
                    for: EventFilter(app: "a"), after: position, within: .seconds(30), connection: nil)
            }
        }
        // The highest first: a look for it alone would begin beyond what the others wait for.
        let ahead = wait(after: .max)
        while tail.count < 1 { await Task.yield() }
        try await tail.look()
        #expect(reads.withLock { $0 } == [.max])
        let others = [wait(after: 6), wait(after: 5), wait(after: 6)]
        while tail.count < 4 { await Task.yield() }
        #expect(reads.withLock { $0.count } == 1, "nobody's wait began or ended with a read")
        try await tail.look()
        #expect(reads.withLock { $0 } == [.max, 5])
        #expect(await others[1].value == .arrival)
        #expect(tail.count == 3, "the others have seen it")
        for task in [ahead, others[0], others[2]] {
            task.cancel()
            #expect(await task.value == .stopping)
        }
        #expect(tail.count == 0)
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
