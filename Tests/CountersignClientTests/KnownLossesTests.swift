import StoreTesting
import Testing

@testable import CountersignClient

/// What stores, networks and people are known to do, and what loses purchases in other apps.
@Suite("Known ways to lose a purchase", .timeLimit(.minutes(1)))
struct KnownLossesTests {
    @Test("finished before posting: nothing is finished before the server said so, whatever goes wrong")
    func finishedBeforePosting() async throws {
        let phone = FakePhone()
        let seller = PlainSeller()
        for mode in [FakeServer.Mode.unreachable, .losesAnswers, .status(500, retryAfter: nil), .isSlow] {
            await phone.server.set(mode)
            // What is left of the mode before may be posted first, and then there is a pause.
            let count = await phone.server.requestCount
            let queue = try await phone.launch(as: "anna")
            await phone.apple.bring(try await seller.sell(StoreOrder(productID: "gems.100")))
            await queue.lookAgain()
            #expect(await phone.server.requestCount > count)
            #expect(await phone.apple.finished.isEmpty)
            await queue.stop()
        }
        await phone.server.set(.works)
        let queue = try await phone.launch(as: "anna")
        await phone.apple.waitForFinished(4)
        await queue.settle()
        #expect(await phone.server.grants.values.map { $0 } == [1, 1, 1, 1])
    }

    @Test("buying again gives the old transaction as success: the old one is delivered, and nothing is told as bought")
    func earlierAsSuccess() async throws {
        let phone = FakePhone()
        // Bought before this app had a journal.
        let old = try await PlainSeller(firstID: 7).sell(StoreOrder(productID: "gems.100"))
        let queue = try await phone.launch()
        await phone.apple.misbehave([.givesEarlierAsSuccess, .isSilentAtLaunch])
        await phone.server.set(.isSlow)
        await phone.apple.bring(old)
        await queue.logIn("anna")
        await queue.settle()
        await phone.server.set(.works)
        guard case .earlierPurchase(let report) = try await queue.purchase("gems.100") else {
            throw FakeStoreError.failed
        }
        #expect(report.transactionID == old.id && report.outcome == .granted)
        #expect(await phone.apple.sold.map(\.id) == [old.id])
        await phone.apple.waitForFinished(1)
        // Now a new one is sold.
        let second = try await queue.purchase("gems.100")
        #expect(second.isGranted)
        #expect(await phone.server.grants.values.map { $0 } == [1, 1])
    }

    @Test("a renewal that comes while a payment sheet is open is not taken for the purchase", arguments: [true, false])
    func queuedRenewal(isStoreKit1: Bool) async throws {
        let phone = FakePhone(isStoreKit1 ? .storeKit1 : .storeKit2)
        let queue = try await phone.launch(as: "anna")
        let renewal = StoreTransaction(
            id: "900", originalID: "1", productID: "vip.silver", origin: .renewal,
            proof: isStoreKit1 ? .receipt : .signedTransaction("e30.900.AA"))
        await phone.apple.misbehave(.asksForApproval)
        #expect(try await queue.purchase("vip.silver") == .pending)
        await phone.apple.misbehave([])
        await phone.apple.bring(renewal)
        await phone.apple.waitForFinished(1)
        // The order is still open, and what comes of it is its own.
        try await phone.apple.approve()
        await phone.apple.waitForFinished(2)
        await queue.settle()
        let bought = try #require(await phone.apple.sold.last)
        #expect(bought.id != renewal.id)
        #expect(await phone.server.owners == [renewal.id: "anna", bought.id: "anna"])
    }

    @Test("nothing unfinished right after the purchase: the purchase itself is enough")
    func unfinishedIsEmpty() async throws {
        let phone = FakePhone()
        await phone.apple.misbehave(.hidesNewest)
        let queue = try await phone.launch(as: "anna")
        #expect(try await queue.purchase("gems.100").isGranted)
    }

    @Test("what was finished is still given: it is told again, posted no more, and counted once")
    func finishedIsStillGiven() async throws {
        let phone = FakePhone()
        await phone.apple.misbehave(.showsFinished)
        let queue = try await phone.launch(as: "anna")
        #expect(try await queue.purchase("gems.100").isGranted)
        await queue.settle()
        for _ in 0..<3 { await queue.enterForeground() }
        await queue.settle()
        await queue.stop()
        // At the next launch, too.
        let next = try await phone.launch(as: "anna")
        await next.settle()
        #expect(await phone.server.posts.count == 1)
        #expect(await next.pending().isEmpty)
        #expect(await Set(phone.apple.finished).count == 1)
    }

    @Test("updates come once only: what could not be posted then is posted later, without the store")
    func updatesComeOnce() async throws {
        let phone = FakePhone()
        await phone.apple.misbehave([.hidesNewest, .isSilentAtLaunch])
        let queue = try await phone.launch(as: "anna")
        await phone.server.set(.unreachable)
        await phone.apple.bring(try await PlainSeller(firstID: 7).sell(StoreOrder(productID: "gems.100")))
        await phone.server.waitForRequests(1)
        await queue.settle()
        await phone.server.set(.works)
        await phone.time.waitForSleepers(1)
        phone.time.advance(by: 2)
        await phone.apple.waitForFinished(1)
        #expect(await phone.server.grants == ["7": 1])
    }

    @Test("approved at a later launch, by which time another player is logged in: it is the buyer's")
    func approvedLater() async throws {
        let phone = FakePhone()
        await phone.apple.misbehave(.asksForApproval)
        let first = try await phone.launch(as: "anna")
        #expect(try await first.purchase("gems.100") == .pending)
        await first.stop()
        try await phone.apple.approve()
        // The signed transaction names Anna, so Ben's post brings it to her.
        let second = try await phone.launch(as: "ben")
        let updates = await second.updates()
        await phone.apple.waitForFinished(1)
        await second.settle()
        await second.stop()
        let id = try #require(await phone.apple.sold.first?.id)
        #expect(await phone.server.owners == [id: "anna"])
        let told = await updates.reports()
        #expect(told.last?.outcome == .belongsToAnother)
    }

    @Test("applicationUsername is nil after a restart: the journal knows who was buying")
    func usernameForgotten() async throws {
        let phone = FakePhone(.storeKit1)
        await phone.apple.misbehave(.asksForApproval)
        let first = try await phone.launch(as: "anna")
        #expect(try await first.purchase("gems.100") == .pending)
        await first.stop()
        await phone.apple.misbehave(.forgetsTokens)
        try await phone.apple.approve()
        let second = try await phone.launch(as: "ben")
        await second.settle()
        #expect(await phone.server.posts.isEmpty)
        await second.logIn("anna")
        await phone.apple.waitForFinished(1)
        #expect(await phone.server.posts.map(\.account) == ["anna"])
        #expect(await phone.server.owners.values.map { $0 } == ["anna"])
    }

    @Test(
        "another Apple Account's queue, whose transactions nobody here bought, waits for a log-in and logs nobody out")
    func anotherQueue() async throws {
        let phone = FakePhone(.storeKit1)
        let foreign = StoreTransaction(
            id: "55", productID: "gems.100", environment: .sandbox, proof: .receipt)
        await phone.apple.bring(foreign)
        let queue = try await phone.launch()
        let updates = await queue.updates()
        await queue.settle()
        #expect(await queue.pending().map(\.outcome) == [.processing(.account(nil))])
        #expect(await phone.server.requestCount == 0)
        await queue.logIn("anna")
        await phone.apple.waitForFinished(1)
        await queue.stop()
        #expect(await phone.server.owners == ["55": "anna"])
        let reports = await updates.reports()
        #expect(reports.last?.outcome == .granted)
    }

    @Test("StoreKit 1's handler is not called at launch: the journal is enough")
    func silentAtLaunch() async throws {
        let phone = FakePhone(.storeKit1)
        await phone.server.set(.unreachable)
        let first = try await phone.launch()
        await phone.apple.bring(StoreTransaction(id: "7", productID: "gems.100", proof: .receipt))
        await first.lookAgain()
        await first.stop()
        await phone.apple.misbehave([.isSilentAtLaunch, .hidesEverything])
        await phone.server.set(.works)
        let second = try await phone.launch(as: "anna")
        await phone.apple.waitForFinished(1)
        await second.settle()
        #expect(await phone.server.owners == ["7": "anna"])
    }

    @Test("an error of the payment sheet although it was paid: it is delivered")
    func errorAlthoughPaid() async throws {
        let phone = FakePhone()
        await phone.apple.misbehave(.failsAfterPaying)
        let queue = try await phone.launch(as: "anna")
        let error = await #expect(throws: PurchaseError.self) { try await queue.purchase("gems.100") }
        #expect(error?.code == .storeFailed)
        #expect(error?.isNothingPaid == false)
        await queue.enterForeground()
        await phone.apple.waitForFinished(1)
        #expect(await phone.server.owners.values.map { $0 } == ["anna"])
    }

    @Test("finishing fails: it is tried again, and nothing is posted again")
    func finishFails() async throws {
        let phone = FakePhone()
        await phone.apple.misbehave(.failsToFinishOnce)
        let queue = try await phone.launch(as: "anna")
        #expect(try await queue.purchase("gems.100").isGranted)
        await phone.time.waitForSleepers(1)
        #expect(await queue.pending().count == 1)
        phone.time.advance(by: 2)
        await phone.apple.waitForFinished(1)
        await queue.settle()
        #expect(await queue.pending().isEmpty)
        #expect(await phone.server.posts.count == 1)
    }
}

extension PurchaseQueue {
    /// Takes what the store has, and waits until nothing is under way: updates of the store may come later than a test looks.
    func lookAgain() async {
        await enterForeground()
        await settle()
    }
}

extension AsyncStream<PurchaseUpdate> {
    /// The reports until the queue stopped.
    func reports() async -> [PurchaseReport] {
        var reports: [PurchaseReport] = []
        for await update in self {
            if case .report(let report) = update { reports.append(report) }
        }
        return reports
    }
}
