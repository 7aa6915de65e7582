import CountersignClientStoreKit
import Foundation
import StoreKit
import StoreKitTesting
import StoreTesting
import Testing

/// What lasts is sold once: whoever owns it gets the transaction of then as success.
@Suite("Products that are owned already", .timeLimit(.minutes(1)))
struct OwnedProductTests {
    @Test(
        "bought again by its owner: it is posted again, and said to be there; by a second account: said to be another's",
        arguments: [Shelf.castle, Shelf.pass])
    func again(productID: String) async throws {
        let phone = Phone(.storeKit2)
        try await phone.device.run {
            let queue = try await phone.launch(as: "anna")
            guard case .settled(let first) = try await queue.purchase(productID) else { throw TestFailure("open") }
            await phone.settle(queue)
            guard case .earlierPurchase(let again) = try await queue.purchase(productID) else {
                throw TestFailure("sold twice")
            }
            #expect(again.transactionID == first.transactionID && again.outcome == .granted)
            await queue.logIn("ben")
            guard case .earlierPurchase(let bens) = try await queue.purchase(productID) else {
                throw TestFailure("sold twice")
            }
            #expect(bens.transactionID == first.transactionID && bens.outcome == .belongsToAnother)
            await phone.settle(queue)
            #expect(await phone.server.granted == [first.transactionID])
            #expect(await phone.server.owners == [first.transactionID: "anna"])
            #expect(await phone.server.posts.count == 3 && phone.device.sales.count == 1)
            #expect(await queue.pending().isEmpty)
            await phone.kill(queue)
        }
    }

    @Test("bought by another launch, of which this journal knows nothing: it is kept, posted and delivered")
    func unknown() async throws {
        let phone = Phone(.storeKit2)
        try await phone.device.run {
            let sale = phone.device.bring(Shelf.castle, isFinished: true)
            let queue = try await phone.launch(as: "anna")
            guard case .earlierPurchase(let report) = try await queue.purchase(Shelf.castle) else {
                throw TestFailure("sold twice")
            }
            #expect(report.transactionID == "\(sale.id)" && report.outcome == .granted)
            #expect(await phone.server.owners == ["\(sale.id)": "anna"])
            await phone.kill(queue)
        }
    }

    @Test("StoreKit 1 makes another transaction of it, with the order's name: it is the buyer's to ask for")
    func storeKit1() async throws {
        let phone = Phone(.storeKit1)
        try await phone.device.run {
            let queue = try await phone.launch(as: "anna")
            guard case .settled = try await queue.purchase(Shelf.castle) else { throw TestFailure("open") }
            guard case .settled(let again) = try await queue.purchase(Shelf.castle) else { throw TestFailure("open") }
            #expect(again.outcome == .granted)
            _ = try await queue.purchase(Shelf.pass)
            #expect(try await queue.purchase(Shelf.pass) == .cancelled, "the App Store says that it is subscribed")
            await phone.settle(queue)
            #expect(phone.device.unfinishedIDs.isEmpty)
            await phone.kill(queue)
        }
    }

    @Test("a refund that was reversed: what comes back without its revocation is posted")
    func reversed() async throws {
        let phone = Phone(.storeKit2)
        try await phone.device.run {
            let queue = try await phone.launch(as: "anna")
            guard case .settled(let report) = try await queue.purchase(Shelf.castle) else { throw TestFailure("open") }
            let id = try #require(UInt64(report.transactionID))
            await phone.device.waitForListeners(1)
            let changes: [(UInt64) -> Void] = [phone.device.refund, phone.device.reverseRefund]
            for (count, change) in changes.enumerated() {
                change(id)
                await phone.server.waitForPosts(count + 2)
                await phone.settle(queue)
            }
            #expect(await phone.server.posts == Array(repeating: "anna signed \(id)", count: 3))
            await phone.kill(queue)
        }
    }
}

/// StoreKit 1's restore, and what one queue does to another.
@Suite("Restoring and stopping, on a phone", .timeLimit(.minutes(1)))
struct RestoreOnPhoneTests {
    @Test("a restore asks for no receipt where there is one")
    func receiptOnDisk() async throws {
        let phone = Phone(.storeKit1)
        try await phone.device.run {
            let queue = try await phone.launch(as: "anna")
            for _ in 0..<3 { phone.device.bring(Shelf.castle, isFinished: true) }
            #expect(try await queue.restore().grantedCount == 3)
            #expect(phone.device.log.refreshesAsked == 0)
            await phone.kill(queue)
        }
    }

    @Test("where there is none it asks once, for all that is restored; the next restore may ask again")
    func receiptOnce() async throws {
        let phone = Phone(.storeKit1)
        try await phone.device.run {
            let queue = try await phone.launch(as: "anna")
            for _ in 0..<3 { phone.device.bring(Shelf.castle, isFinished: true) }
            phone.device.misbehave([.hasNoReceipt, .refusesReceipt])
            let refused = try await queue.restore()
            #expect(refused.reports.count == 3 && refused.grantedCount == 0)
            #expect(phone.device.log.refreshesAsked == 1)
            phone.device.misbehave(.hasNoReceipt)
            #expect(try await queue.restore().grantedCount >= 3)
            #expect(phone.device.log.refreshesAsked == 2)
            await phone.kill(queue)
        }
    }

    @Test(
        "what was restored stays in the payment queue when the player changes, also by a kill: it is for who restores next",
        arguments: [false, true])
    func leftBehind(isKilled: Bool) async throws {
        let phone = Phone(.storeKit1)
        try await phone.device.run {
            phone.device.bring(Shelf.castle, isFinished: true)
            let first = try await phone.launch(as: "anna")
            try await phone.restoreWhileAway(first)
            await first.enterForeground()
            await phone.settle(first)
            await phone.server.goDown(false)
            if isKilled { await phone.kill(first) }
            let queue = try await isKilled ? phone.launch() : first
            await queue.logIn("ben")
            await queue.enterForeground()
            await phone.settle(queue)
            #expect(await phone.server.posts.isEmpty)
            #expect(await queue.pending().isEmpty)
            #expect(phone.device.unfinishedIDs.count == 1)
            let restored = try await queue.restore()
            #expect(restored.grantedCount == restored.reports.count)
            await phone.settle(queue)
            #expect(await Set(phone.server.owners.values) == ["ben"])
            #expect(phone.device.unfinishedIDs.isEmpty)
            await phone.kill(queue)
        }
    }

    @Test("a restore that breaks off gives nothing to whoever is logged in; the next one has it")
    func brokenOff() async throws {
        let phone = Phone(.storeKit1)
        try await phone.device.run {
            phone.device.bring(Shelf.castle, isFinished: true)
            let queue = try await phone.launch(as: "anna")
            phone.device.misbehave(.breaksRestoresOff)
            await #expect(throws: CountersignClient.PurchaseError.self) { try await queue.restore() }
            await queue.logIn("ben")
            await phone.settle(queue)
            #expect(await phone.server.posts.isEmpty)
            #expect(phone.device.unfinishedIDs.count == 1)
            phone.device.misbehave([])
            let restored = try await queue.restore()
            #expect(restored.grantedCount == restored.reports.count)
            await phone.settle(queue)
            #expect(phone.device.unfinishedIDs.isEmpty)
            await phone.kill(queue)
        }
    }

    @Test(
        "a cancelled restore is cancelled and no error; one that fails says nothing about charges",
        arguments: Interface.allCases)
    func cancelled(interface: Interface) async throws {
        let phone = Phone(interface)
        try await phone.device.run {
            let queue = try await phone.launch(as: "anna")
            phone.device.misbehave(.refusesPassword)
            await #expect(throws: CancellationError.self) { try await queue.restore() }
            phone.device.misbehave(.isOffline)
            await #expect {
                try await queue.restore()
            } throws: { error in
                (error as? CountersignClient.PurchaseError)?.code == .restoreFailed
                    && !error.localizedDescription.contains("charged")
            }
            await phone.kill(queue)
        }
    }

    @Test("a queue that stops leaves the store to the next one", arguments: Interface.allCases)
    func stopped(interface: Interface) async throws {
        let phone = Phone(interface)
        try await phone.device.run {
            let store = interface.store(on: phone.device)
            let first = try await phone.open(over: store)
            await first.start()
            await first.stop()
            let second = try await phone.open(over: store)
            await second.start()
            await second.logIn("anna")
            if interface == .storeKit2 { await phone.device.waitForListeners(1) }
            await phone.settle(second)
            let sale = phone.device.bring(Shelf.gems)
            await phone.server.waitForPosts(1)
            await phone.settle(second)
            #expect(await phone.server.owners == ["\(sale.id)": "anna"])
            await phone.kill(second)
        }
    }

    @Test("two queues' listeners have each their own updates, and one that ends takes nothing from the other")
    func listeners() async throws {
        let device = Shelf.device()
        await device.run {
            let store = StoreKit1Store(receiptURL: { device.receiptURL })
            let early = device.bring(Shelf.gems)
            await device.callsAreMade()
            let (first, second) = (await store.updates(), await store.updates())
            var heard = first.makeAsyncIterator()
            #expect(await heard.next()?.id == "\(early.id)")
            let ending = Task { for await _ in second {} }
            ending.cancel()
            await ending.value
            let late = device.bring(Shelf.gems)
            #expect(await heard.next()?.id == "\(late.id)")
        }
    }

    @Test(
        "what an earlier version bought as \"10042\" keeps its name, and waits for whose it is",
        arguments: [nil, "anna"])
    func legacyName(account: String?) async throws {
        let phone = Phone(.storeKit1)
        try await phone.device.run {
            let sale = phone.device.bring(Shelf.gems, username: "10042")
            let queue = try await phone.open(legacyAccount: { $0 == "10042" ? account : nil })
            await queue.start()
            await queue.logIn("ben")
            await phone.settle(queue)
            #expect(await phone.server.posts.isEmpty)
            await queue.logIn("anna")
            await phone.settle(queue)
            #expect(await phone.server.owners == (account == nil ? [:] : ["\(sale.id)": "anna"]))
            #expect(phone.device.unfinishedIDs == (account == nil ? ["\(sale.id)"] : []))
            await phone.kill(queue)
        }
    }
}

extension Phone {
    /// Restores while the server takes no purchases; what was given waits, and is in the payment queue.
    fileprivate func restoreWhileAway(_ queue: PurchaseQueue) async throws {
        await server.goDown(true, purchasesOnly: true)
        let restoring = Task { try await queue.restore() }
        await server.waitForRefusals(1)
        // The pause after the failure, and the patience of the restore: both pass.
        await time.waitForSleepers(2)
        time.advance(by: 60)
        #expect(try await restoring.value.reports.map(\.outcome) == [.processing(.server)])
        await server.waitForRefusals(2)
    }
}
