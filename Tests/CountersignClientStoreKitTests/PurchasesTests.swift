import CountersignClientStoreKit
import Foundation
import Observation
import StoreKitTesting
import StoreTesting
import Testing

@Suite("Purchases for screens", .timeLimit(.minutes(1)))
@MainActor
struct PurchasesTests {
    @Test("set up, logged in, bought: three lines, and the screen knows", arguments: Interface.allCases)
    func threeLines(interface: Interface) async throws {
        let phone = Phone(interface)
        try await phone.device.run {
            let purchases = Purchases { try await phone.open() }
            await purchases.logIn("anna")
            let result = await purchases.buy(Shelf.gems)
            guard case .settled(let report) = result else { throw TestFailure("\(String(describing: result))") }
            #expect(report.outcome == .granted)
            #expect(purchases.account == "anna" && purchases.state.canMakePayments && !purchases.state.isBusy)
            await purchases.load([Shelf.gems, Shelf.castle])
            #expect(purchases.state.products.map(\.id) == [Shelf.gems, Shelf.castle])
            await phone.settle(try await purchases.queue)
            #expect(await phone.server.owners.values.sorted() == ["anna"])
            await phone.kill(try await purchases.queue)
        }
    }

    @Test("nobody logged in, a closed sheet, a refused restore: each is said, and nothing stays busy")
    func failures() async throws {
        let phone = Phone(.storeKit2)
        try await phone.device.run {
            let purchases = Purchases { try await phone.open() }
            #expect(await purchases.buy(Shelf.gems) == nil)
            guard case .failed(let error) = purchases.state.notice else { throw TestFailure("no notice") }
            #expect(error.code == .accountRequired)
            await purchases.logIn("anna")
            phone.device.misbehave(.isCancelled)
            #expect(await purchases.buy(Shelf.gems) == .cancelled)
            #expect(purchases.state.notice == .ended(.cancelled))
            phone.device.misbehave(.refusesPassword)
            #expect(await purchases.restore() == nil)
            #expect(purchases.state.notice == nil && !purchases.state.isBusy)
            await purchases.logIn(nil)
            #expect(purchases.account == nil)
            await phone.kill(try await purchases.queue)
        }
    }

    @Test("a button's action buys for who was logged in when it was pressed, and completions are called once")
    func completions() async throws {
        let phone = Phone(.storeKit2)
        try await phone.device.run {
            let purchases = Purchases { try await phone.open() }
            await purchases.logIn("anna")
            let (ends, end) = AsyncStream.makeStream(of: String.self)
            var ended = ends.makeAsyncIterator()
            purchases.buy(Shelf.gems) { result, error in end.yield(error?.code.rawValue ?? "\(result != nil)") }
            #expect(await ended.next() == "true")
            // Ben logs in before the purchase of Anna's button begins.
            purchases.logIn("ben") { end.yield("ben") }
            purchases.restore { result, error in end.yield(error?.code.rawValue ?? "\(result != nil)") }
            let both = [await ended.next(), await ended.next()].compactMap { $0 }
            #expect(both.contains("ben") && (both.contains("account_changed") || both.contains("true")))
            #expect(await phone.server.owners.values.sorted() == ["anna"])
            await phone.kill(try await purchases.queue)
        }
    }

    @Test("two log-ins while the queue is being opened: the later one says who plays")
    func overtaken() async throws {
        let phone = Phone(.storeKit2)
        try await phone.device.run {
            let (opens, open) = AsyncStream.makeStream(of: Void.self)
            let purchases = Purchases {
                for await _ in opens {}
                return try await phone.open()
            }
            let first = Task { await purchases.logIn("anna") }
            while purchases.account != "anna" { await Task.yield() }
            let second = Task { await purchases.logIn("ben") }
            while purchases.account != "ben" { await Task.yield() }
            open.finish()
            await first.value
            await second.value
            let queue = try await purchases.queue
            #expect(await queue.currentAccount == "ben")
            await phone.kill(queue)
        }
    }

    @Test("what the player has follows the server, and entitlements are looked up without a request")
    func account() async throws {
        let phone = Phone(.storeKit2)
        try await phone.device.run {
            let purchases = Purchases { try await phone.open() }
            #expect(!purchases.has("castle"))
            await purchases.logIn("anna")
            await purchases.buy(Shelf.gems)
            let known = await purchases.value { $0.account?.version == 1 ? $0.account : nil }
            #expect(known.account == "anna" && !known.isStale && purchases.has("first"))
            // Another player has nothing of it.
            await purchases.logIn("ben")
            #expect(!purchases.has("first"))
            await phone.kill(try await purchases.queue)
        }
    }

    @Test("what comes by itself is told, and can be tried again by hand")
    func recovered() async throws {
        let phone = Phone(.storeKit2)
        try await phone.device.run {
            let sale = phone.device.bring(Shelf.gems)
            let purchases = Purchases { try await phone.open() }
            let waiting = await purchases.value { $0.pending.first }
            #expect(waiting.transactionID == "\(sale.id)" && waiting.outcome == .processing(.account(nil)))
            await purchases.logIn("anna")
            _ = await purchases.value { state -> Bool? in
                guard case .update(.report(let report)) = state.notice else { return nil }
                return report.outcome == .granted && report.occasion == .recovered ? true : nil
            }
            await phone.settle(try await purchases.queue)
            await purchases.enterForeground()
            #expect(purchases.state.pending.isEmpty)
            await purchases.retry("\(sale.id)")
            guard case .failed(let error) = purchases.state.notice else { throw TestFailure("no notice") }
            #expect(error.code == .transactionUnknown)
            await phone.kill(try await purchases.queue)
        }
    }
}

extension Purchases {
    /// Waits for a state, as a screen observes it.
    fileprivate func value<Value: Sendable>(_ find: @MainActor (State) -> Value?) async -> Value {
        while true {
            let (changes, change) = AsyncStream.makeStream(of: Void.self)
            let found = withObservationTracking {
                find(state)
            } onChange: {
                change.finish()
            }
            if let found { return found }
            for await _ in changes {}
        }
    }
}
