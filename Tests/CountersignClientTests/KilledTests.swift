import StoreTesting
import Testing

@testable import CountersignClient

/// The app dies at every place where it can; the next launch has everything.
@Suite("Killed at each step", .timeLimit(.minutes(1)))
struct KilledTests {
    @Test("with every length that a cut-off write can leave, the next launch grants the purchase once and finishes it")
    func everyByte() async throws {
        let life = FakePhone()
        let queue = try await life.launch(as: "anna")
        #expect(try await queue.purchase("gems.100").isGranted)
        await queue.settle()
        await queue.stop()
        let whole = life.storage.bytes
        let transaction = try #require(await life.apple.sold.first)
        let token = try #require(transaction.accountToken)
        #expect(whole.count > 300)
        var answered = 0
        for length in 0...whole.count {
            // The same purchase on a phone that died when so much was written, with the transaction not finished.
            let apple = FakeAppStore()
            await apple.bring(transaction)
            let server = FakeServer(apple)
            await server.register(token, account: "anna")
            let phone = FakePhone(apple: apple, server: server, storage: MemoryStorage(Array(whole.prefix(length))))
            let next = try await phone.launch(as: "anna")
            await apple.waitForFinished(1)
            await next.settle()
            if Self.isAnswered(whole.prefix(length)) {
                // The server had said it before: it is finished, and not posted again.
                #expect(await server.posts.isEmpty, "cut off at \(length)")
                answered += 1
            } else {
                #expect(await server.owners == [transaction.id: "anna"], "cut off at \(length)")
                #expect(await server.grants == [transaction.id: 1])
            }
            #expect(await apple.finished.allSatisfy { $0 == transaction.id })
            #expect(await apple.unfinishedIDs.isEmpty)
            #expect(await next.pending().isEmpty)
            await next.stop()
        }
        #expect(answered > 40 && answered < whole.count / 2)
    }

    private static func isAnswered(_ bytes: ArraySlice<UInt8>) -> Bool {
        JournalFormat.read(Array(bytes)).payloads.contains { payload in
            if case .answered = JournalRecord(payload: payload) { true } else { false }
        }
    }

    @Test("before the payment sheet nothing was saved: nothing was paid, and the purchase is an error")
    func beforeSaving() async throws {
        let phone = FakePhone()
        let queue = try await phone.launch(as: "anna")
        phone.storage.isFull = true
        let error = await #expect(throws: PurchaseError.self) { try await queue.purchase("gems.100") }
        #expect(error?.code == .storageUnavailable)
        #expect(error?.isNothingPaid == true)
        #expect(await phone.apple.sheetCount == 0)
        phone.storage.isFull = false
        #expect(try await queue.purchase("gems.100").isGranted)
    }

    @Test("while the payment sheet is open: the next launch has the intent, and the purchase is its account's")
    func whileTheSheetIsOpen() async throws {
        let phone = FakePhone(.storeKit1)
        await phone.apple.misbehave(.failsAfterPaying)
        let first = try await phone.launch(as: "anna")
        _ = try? await first.purchase("gems.100")
        await first.stop()
        // The store forgot the token, and Ben is there first.
        await phone.apple.misbehave(.forgetsTokens)
        let second = try await phone.launch(as: "ben")
        await second.settle()
        #expect(await phone.server.posts.isEmpty)
        #expect(await second.pending().map(\.outcome) == [.processing(.account("anna"))])
        await second.logIn("anna")
        await phone.apple.waitForFinished(1)
        #expect(await phone.server.owners.values.map { $0 } == ["anna"])
    }

    @Test("a disk that is full after paying: it is posted from memory and finished")
    func fullDiskAfterPaying() async throws {
        let phone = FakePhone()
        let queue = try await phone.launch(as: "anna")
        await phone.apple.misbehave(.asksForApproval)
        #expect(try await queue.purchase("gems.100") == .pending)
        phone.storage.isFull = true
        await phone.apple.misbehave([])
        try await phone.apple.approve()
        await phone.apple.waitForFinished(1)
        await queue.settle()
        #expect(await phone.server.grants.values.map { $0 } == [1])
        #expect(await queue.pending().isEmpty)
        // With room again the journal is whole again.
        phone.storage.isFull = false
        #expect(try await queue.purchase("gems.100").isGranted)
        await queue.settle()
        await queue.stop()
        let next = try await phone.launch(as: "anna")
        await next.settle()
        #expect(await next.pending().isEmpty)
        #expect(await phone.server.posts.count == 2)
    }

    @Test("a journal that cannot be opened: what the store gives is posted, and no payment sheet opens")
    func noJournal() async throws {
        let phone = FakePhone()
        let sold = try await PlainSeller(firstID: 7).sell(StoreOrder(productID: "gems.100"))
        await phone.apple.bring(sold)
        phone.storage.isFull = true
        let queue = try await phone.launch(as: "anna")
        await phone.apple.waitForFinished(1)
        #expect(await phone.server.owners == [sold.id: "anna"])
        let error = await #expect(throws: PurchaseError.self) { try await queue.purchase("gems.100") }
        #expect(error?.code == .storageUnavailable)
        #expect(await phone.apple.sheetCount == 0)
    }

    @Test(
        "a journal that cannot be read is not written over: what the store gives is posted, and no payment sheet opens")
    func unreadable() async throws {
        let phone = FakePhone()
        await phone.apple.misbehave(.failsToFinishOnce)
        let first = try await phone.launch(as: "anna")
        _ = try await first.purchase("gems.100")
        await phone.time.waitForSleepers(1)
        await first.stop()
        let bytes = phone.storage.bytes
        phone.storage.isUnreadable = true
        let second = try await phone.launch(as: "anna")
        await phone.apple.waitForFinished(1)
        let error = await #expect(throws: PurchaseError.self) { try await second.purchase("gems.100") }
        #expect(error?.code == .storageUnavailable)
        await second.settle()
        await second.stop()
        #expect(phone.storage.bytes == bytes)
        #expect(await phone.server.grants.values.map { $0 } == [1])
    }

    @Test("answered, and killed before it was finished: it is finished without another post")
    func answeredOnly() async throws {
        let phone = FakePhone()
        await phone.apple.misbehave(.failsToFinishOnce)
        let first = try await phone.launch(as: "anna")
        #expect(try await first.purchase("gems.100").isGranted)
        await phone.time.waitForSleepers(1)
        await first.stop()
        let second = try await phone.launch()
        await phone.apple.waitForFinished(1)
        await second.settle()
        #expect(await second.pending().isEmpty)
        #expect(await phone.server.posts.count == 1)
    }

    @Test("a write that is damaged in the middle costs that record alone")
    func damagedInTheMiddle() async throws {
        let phone = FakePhone()
        await phone.server.set(.unreachable)
        let queue = try await phone.launch(intents: .preferred)
        for number in 0..<5 {
            await phone.apple.bring(
                try await PlainSeller(firstID: 100 + number).sell(StoreOrder(productID: "gems.100")))
        }
        await queue.lookAgain()
        #expect(await queue.pending().count == 5)
        await queue.stop()
        phone.storage.bytes[phone.storage.bytes.count / 2] ^= 0xFF
        await phone.apple.misbehave(.isSilentAtLaunch)
        await phone.server.set(.works)
        // The store has all of them, and the journal all but one: nothing is missing in the end.
        let next = try await phone.launch(as: "anna")
        await phone.apple.waitForFinished(5)
        #expect(await phone.server.grants.values.allSatisfy { $0 == 1 })
        #expect(await phone.server.grants.count == 5)
        #expect(phone.log.lines.contains { $0.message.contains("damaged") })
        await next.stop()
    }
}

extension PurchaseResult {
    /// Whether it is granted and finished.
    var isGranted: Bool {
        if case .settled(let report) = self { report.outcome == .granted && report.isFinished } else { false }
    }
}
