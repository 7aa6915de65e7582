import StoreTesting
import Testing

@testable import CountersignClient

@Suite("What the app is told", .timeLimit(.minutes(1)))
struct ToldOnceTests {
    @Test("a purchase: that it is paid, then its outcome to who called, and to nobody else")
    func bought() async throws {
        let phone = FakePhone()
        let queue = try await phone.launch(as: "anna")
        let updates = await queue.updates()
        guard case .settled(let report) = try await queue.purchase("gems.100") else { throw FakeStoreError.failed }
        #expect(report.outcome == .granted && report.occasion == .bought)
        await queue.settle()
        await queue.stop()
        let told = await updates.all()
        #expect(told.count == 1)
        guard case .paid(let paid) = told.first else { throw FakeStoreError.failed }
        #expect(paid.transactionID == report.transactionID && paid.occasion == .bought)
        #expect(paid.outcome == .processing(.server))
    }

    @Test("what comes by itself is recovered: paid once, granted once")
    func recovered() async throws {
        let phone = FakePhone()
        await phone.apple.bring(try await PlainSeller(firstID: 7).sell(StoreOrder(productID: "gems.100")))
        let queue = try await phone.open()
        let updates = await queue.updates()
        await queue.start()
        await queue.logIn("anna")
        await phone.apple.waitForFinished(1)
        for _ in 0..<3 { await queue.enterForeground() }
        await queue.settle()
        await queue.stop()
        let told = await updates.all()
        let reports = told.compactMap { if case .report(let report) = $0, report.isFinished { report } else { nil } }
        #expect(reports.map(\.occasion) == [.recovered] && reports.map(\.outcome) == [.granted])
        #expect(told.count { if case .paid(let report) = $0 { report.occasion == .recovered } else { false } } == 1)
    }

    @Test("an answer that comes before the payment sheet closes is the caller's")
    func early() async throws {
        let phone = FakePhone()
        let queue = try await phone.launch(as: "anna")
        let updates = await queue.updates()
        // The updates bring it, and the server answers, while the sheet is still open.
        await phone.apple.misbehave(.tellsBeforeClosing)
        await phone.apple.selling { await queue.settle() }
        guard case .settled(let report) = try await queue.purchase("gems.100") else { throw FakeStoreError.failed }
        #expect(report.occasion == .bought)
        await queue.settle()
        await queue.stop()
        #expect(await updates.all().count { if case .report = $0 { true } else { false } } == 0)
    }

    @Test("what the caller did not wait for is told to everybody, once")
    func late() async throws {
        let phone = FakePhone()
        let queue = try await phone.launch(as: "anna")
        let updates = await queue.updates()
        await phone.server.set(.isSlow)
        let buying = Task { try await queue.purchase("gems.100") }
        await phone.server.waitForRequests(2)
        // The caller's patience, and the time until the server is asked again.
        await phone.time.waitForSleepers(2)
        phone.time.advance(by: 20)
        guard case .processing(let id) = try await buying.value else { throw FakeStoreError.failed }
        await phone.server.set(.works)
        try await queue.retry(transactionID: id)
        await phone.apple.waitForFinished(1)
        await queue.settle()
        await queue.stop()
        let reports = await updates.all().compactMap { if case .report(let report) = $0 { report } else { nil } }
        #expect(reports.map(\.outcome) == [.granted] && reports.map(\.occasion) == [.bought])
    }

    @Test("a purchase that waits is tried again when somebody asks, or comes back to the app")
    func retried() async throws {
        let phone = FakePhone()
        await phone.server.refuse("7")
        await phone.apple.bring(try await PlainSeller(firstID: 7).sell(StoreOrder(productID: "gems.100")))
        let queue = try await phone.launch(as: "anna")
        await phone.server.waitForRequests(1)
        await queue.settle()
        try await queue.retry(transactionID: "7")
        await queue.settle()
        #expect(await phone.server.posts.count == 2)
        await queue.enterForeground()
        await queue.settle()
        #expect(await phone.server.posts.count == 3)
        let error = await #expect(throws: PurchaseError.self) { try await queue.retry(transactionID: "8") }
        #expect(error?.code == .transactionUnknown)
        await queue.stop()
    }

    @Test("a refund that was reversed: what comes back without its revocation is posted, each time that it changes")
    func reversed() async throws {
        let phone = FakePhone()
        let queue = try await phone.launch(as: "anna")
        #expect(try await queue.purchase("gems.100").isGranted)
        await queue.settle()
        let bought = try #require(await phone.apple.sold.first)
        var refunded = bought
        refunded.isRevoked = true
        for (count, given) in [refunded, bought, refunded, bought].enumerated() {
            await phone.apple.repeatUpdate(given)
            await phone.apple.waitForFinished(count + 2)
            await queue.settle()
            #expect(await phone.server.posts.count == count + 2)
        }
        await queue.stop()
        // The next launch knows the newest state.
        let next = try await phone.launch(as: "anna")
        await phone.apple.repeatUpdate(bought)
        await phone.apple.waitForFinished(6)
        await next.settle()
        #expect(await phone.server.posts.count == 5)
    }

    @Test("what was finished is known by its newest state, up to the limit")
    func recentKeys() {
        var keys = RecentKeys(maximum: 2)
        let (bought, refunded) = (PurchaseKey(id: "1", isRevoked: false), PurchaseKey(id: "1", isRevoked: true))
        keys.add(bought)
        keys.add(refunded)
        #expect(!keys.contains(bought) && keys.contains(refunded))
        keys.add(bought)
        #expect(keys.newest == [bought])
        keys.add(PurchaseKey(id: "2", isRevoked: false))
        keys.add(PurchaseKey(id: "3", isRevoked: false))
        #expect(keys.contains(bought), "an older state that goes takes the newest not with it")
        for number in 4...9 { keys.add(PurchaseKey(id: "\(number)", isRevoked: false)) }
        #expect(!keys.contains(bought) && keys.newest.map(\.id) == ["8", "9"])
    }
}

extension AsyncStream<PurchaseUpdate> {
    /// All that was told until the queue was stopped.
    func all() async -> [PurchaseUpdate] {
        var updates: [PurchaseUpdate] = []
        for await update in self { updates.append(update) }
        return updates
    }
}
