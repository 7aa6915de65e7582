import CountersignClientStoreKit
import Foundation
import StoreKitTesting
import StoreTesting
import Testing

/// Ways to lose a purchase that begin in StoreKit, through the adapters and the whole queue.
@Suite("Known ways to lose a purchase, on a phone", .timeLimit(.minutes(1)))
struct LostPurchaseTests {
    @Test("what is bought is granted to who bought it, and finished only then", arguments: Interface.allCases)
    func bought(interface: Interface) async throws {
        let phone = Phone(interface)
        try await phone.device.run {
            let queue = try await phone.launch(as: "anna")
            await phone.server.goDown(false)
            let result = try await queue.purchase(Shelf.gems)
            guard case .settled(let report) = result else { throw TestFailure("\(result)") }
            #expect(report.outcome == .granted)
            await phone.settle(queue)
            #expect(await phone.server.owners == [report.transactionID: "anna"])
            #expect(phone.device.unfinishedIDs.isEmpty)
            await phone.kill(queue)
        }
    }

    @Test("a server that is away finishes nothing; the next launch delivers", arguments: Interface.allCases)
    func serverAway(interface: Interface) async throws {
        let phone = Phone(interface)
        try await phone.device.run {
            let first = try await phone.launch(as: "anna")
            let id = try await phone.buyWhileAway(first, Shelf.gems)
            #expect(phone.device.log.finished.isEmpty)
            await phone.kill(first)
            await phone.server.goDown(false)
            let second = try await phone.launch(as: "anna")
            await phone.settle(second)
            #expect(await phone.server.granted == [id])
            #expect(phone.device.unfinishedIDs.isEmpty)
            await phone.kill(second)
        }
    }

    @Test(
        "buying again gives the old transaction as success: it is delivered, and nothing else is",
        arguments: Interface.allCases)
    func repurchase(interface: Interface) async throws {
        let phone = Phone(interface)
        try await phone.device.run {
            let queue = try await phone.launch(as: "anna")
            let old = try await phone.buyWhileAway(queue, Shelf.gems)
            // Intents work again, purchases not yet: the old one still waits when the sheet opens.
            await phone.server.goDown(false, purchasesOnly: true)
            phone.device.misbehave(.givesEarlierAsSuccess)
            let buying = Task { try await queue.purchase(Shelf.gems) }
            // The pause of the queue, and the buyer's patience.
            await phone.time.waitForSleepers(2)
            await phone.server.goDown(false)
            await queue.networkIsReachable()
            guard case .earlierPurchase(let report) = try await buying.value else { throw TestFailure("sold") }
            #expect(report.transactionID == old && report.outcome == .granted)
            await phone.settle(queue)
            #expect(await phone.server.granted == [old])
            #expect(phone.device.sales.count == 1)
            await phone.kill(queue)
        }
    }

    @Test("`unfinished` is empty right after purchase(): what purchase() gave is enough")
    func emptyUnfinished() async throws {
        let phone = Phone(.storeKit2)
        try await phone.device.run {
            let queue = try await phone.launch(as: "anna")
            phone.device.misbehave(.hidesNewest)
            guard case .settled(let report) = try await queue.purchase(Shelf.gems) else { throw TestFailure("open") }
            #expect(report.outcome == .granted)
            await queue.enterForeground()
            await phone.settle(queue)
            #expect(await phone.server.granted == [report.transactionID])
            await phone.kill(queue)
        }
    }

    @Test("`unfinished` goes on giving what was finished: the server hears of it once")
    func stillUnfinished() async throws {
        let phone = Phone(.storeKit2)
        try await phone.device.run {
            let queue = try await phone.launch(as: "anna")
            phone.device.misbehave(.showsFinished)
            _ = try await queue.purchase(Shelf.gems)
            for _ in 0..<3 {
                await queue.enterForeground()
                await phone.settle(queue)
            }
            #expect(await phone.server.posts.count == 1)
            #expect(await queue.pending().isEmpty)
            await phone.kill(queue)
        }
    }

    @Test("updates come once, before anybody is logged in: they wait for the log-in", arguments: Interface.allCases)
    func beforeLogIn(interface: Interface) async throws {
        let phone = Phone(interface)
        try await phone.device.run {
            let sale = phone.device.bring(Shelf.gems)
            let queue = try await phone.launch()
            await phone.settle(queue)
            #expect(await queue.pending().map(\.transactionID) == ["\(sale.id)"])
            #expect(await phone.server.posts.isEmpty)
            await queue.logIn("anna")
            await phone.settle(queue)
            #expect(await phone.server.owners == ["\(sale.id)": "anna"])
            await phone.kill(queue)
        }
    }

    @Test(
        "nothing is told at launch, neither updates nor the observer: the look at what is unfinished finds it",
        arguments: Interface.allCases)
    func silentLaunch(interface: Interface) async throws {
        let phone = Phone(interface)
        try await phone.device.run {
            phone.device.misbehave(.isSilentAtLaunch)
            let sale = phone.device.bring(Shelf.gems)
            let queue = try await phone.launch(as: "anna")
            await phone.settle(queue)
            #expect(await phone.server.granted == ["\(sale.id)"])
            await phone.kill(queue)
        }
    }

    @Test("approved at a later launch, when another account plays: it is the orderer's", arguments: Interface.allCases)
    func approvedLater(interface: Interface) async throws {
        let phone = Phone(interface)
        try await phone.device.run {
            let first = try await phone.launch(as: "anna")
            phone.device.misbehave(.asksForApproval)
            #expect(try await first.purchase(Shelf.gems) == .pending)
            await phone.kill(first)
            phone.device.misbehave([])
            phone.device.approve()
            let second = try await phone.launch(as: "ben")
            await phone.settle(second)
            await second.logIn("anna")
            await phone.settle(second)
            #expect(await phone.server.owners.values.sorted() == ["anna"])
            #expect(await phone.server.granted.count == 1)
            #expect(phone.device.unfinishedIDs.isEmpty)
            await phone.kill(second)
        }
    }

    @Test(
        "applicationUsername is nil after a restart: the journal knows whose it is, and another's log-in does not get it"
    )
    func forgottenUsername() async throws {
        let phone = Phone(.storeKit1)
        try await phone.device.run {
            let first = try await phone.launch(as: "anna")
            let id = try await phone.buyWhileAway(first, Shelf.gems)
            await phone.kill(first)
            phone.device.misbehave(.forgetsUsernames)
            await phone.server.goDown(false)
            let second = try await phone.launch(as: "ben")
            await phone.settle(second)
            #expect(await phone.server.granted.isEmpty)
            #expect(await second.pending().map(\.outcome) == [.processing(.account("anna"))])
            await second.logIn("anna")
            await phone.settle(second)
            #expect(await phone.server.owners == [id: "anna"])
            await phone.kill(second)
        }
    }

    @Test("a restore that brings another player's: it stays that player's, and the restore says so")
    func anothersRestore() async throws {
        let phone = Phone(.storeKit2)
        try await phone.device.run {
            let token = UUID()
            await phone.server.register(token, account: "anna")
            let sale = phone.device.bring(Shelf.castle, token: token, isFinished: true)
            let queue = try await phone.launch(as: "ben")
            let result = try await queue.restore()
            #expect(result.reports.map(\.transactionID) == ["\(sale.id)"])
            #expect(result.reports.map(\.outcome) == [.belongsToAnother])
            #expect(await phone.server.owners == ["\(sale.id)": "anna"])
            await phone.kill(queue)
        }
    }

    @Test(
        "a restore delivers what lasts, and finishes what the payment queue gave for it", arguments: Interface.allCases)
    func restored(interface: Interface) async throws {
        let phone = Phone(interface)
        try await phone.device.run {
            phone.device.bring(Shelf.castle, isFinished: true)
            let queue = try await phone.launch(as: "anna")
            let result = try await queue.restore()
            #expect(result.grantedCount == 1 && result.reports.count == 1)
            await phone.settle(queue)
            #expect(phone.device.unfinishedIDs.isEmpty)
            await phone.kill(queue)
        }
    }

    @Test("an error after paying is no proof that nothing was paid: it is delivered", arguments: Interface.allCases)
    func failedAfterPaying(interface: Interface) async throws {
        let phone = Phone(interface)
        try await phone.device.run {
            let queue = try await phone.launch(as: "anna")
            phone.device.misbehave(.failsAfterPaying)
            await #expect {
                try await queue.purchase(Shelf.gems)
            } throws: { error in
                let error = error as? CountersignClient.PurchaseError
                return error?.code == .storeFailed && error?.isNothingPaid == false
            }
            phone.device.misbehave([])
            if interface == .storeKit1 {
                // The interrupted payment goes through in the App Store's app.
                let token = try #require(phone.device.log.orderedUsernames.last)
                phone.device.bring(Shelf.gems, token: UUID(uuidString: token), username: token)
            }
            await queue.enterForeground()
            await phone.settle(queue)
            #expect(await phone.server.owners.values.sorted() == ["anna"])
            #expect(phone.device.unfinishedIDs.isEmpty)
            await phone.kill(queue)
        }
    }

    @Test("what StoreKit cannot verify is posted: the server judges")
    func unverified() async throws {
        let phone = Phone(.storeKit2)
        try await phone.device.run {
            phone.device.misbehave(.cannotVerify)
            let queue = try await phone.launch(as: "anna")
            guard case .settled(let report) = try await queue.purchase(Shelf.gems) else { throw TestFailure("open") }
            #expect(report.outcome == .granted)
            await phone.kill(queue)
        }
    }

    @Test(
        "an offer is signed for the intent of its purchase, and a refused one costs nothing",
        arguments: Interface.allCases)
    func offers(interface: Interface) async throws {
        let phone = Phone(interface)
        try await phone.device.run {
            let queue = try await phone.launch(as: "anna")
            guard case .settled = try await queue.purchase(Shelf.pass, offer: .promotional("comeback")) else {
                throw TestFailure("open")
            }
            let token = try #require(phone.device.sales.first?.token)
            #expect(await phone.server.signedTokens == [token.uuidString.lowercased()])
            if interface == .storeKit1 { #expect(phone.device.log.discounts.map(\.first) == ["comeback"]) }
            await #expect {
                try await queue.purchase(Shelf.pass, offer: .signed { _, _ in throw TestFailure("not for you") })
            } throws: {
                ($0 as? CountersignClient.PurchaseError)?.code == .offerUnavailable
            }
            phone.device.misbehave(.refusesOffers)
            await #expect {
                try await queue.purchase(Shelf.pass, offer: .promotional("comeback"))
            } throws: { error in
                let error = error as? CountersignClient.PurchaseError
                return error?.code == .orderInvalid && error?.isNothingPaid == true
            }
            #expect(phone.device.sales.count == 1)
            await phone.kill(queue)
        }
    }
}

extension Phone {
    /// Buys while the server takes no purchases; the id of what then waits.
    func buyWhileAway(_ queue: PurchaseQueue, _ productID: String) async throws -> String {
        await server.goDown(true, purchasesOnly: true)
        let buying = Task { try await queue.purchase(productID) }
        await server.waitForRefusals(1)
        // The pause after the failure, and the time for which a buyer is kept waiting: both pass.
        await time.waitForSleepers(2)
        time.advance(by: 60)
        let result = try await buying.value
        guard case .processing(let id) = result else { throw TestFailure("\(result)") }
        // The try after the pause is over, too: it would be heard by a server that is up again.
        await server.waitForRefusals(2)
        return id
    }
}
