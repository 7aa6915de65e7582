import StoreTesting
import Testing

@testable import CountersignClient

/// What an earlier version of the app bought with a name of its own, like "10042", when the app is updated.
@Suite("Names of an earlier version", .timeLimit(.minutes(1)))
struct LegacyNameTests {
    private static let old = StoreTransaction(id: "7", productID: "gems.100", username: "10042", proof: .receipt)

    @Test("a name that is mapped: it is that account's, whoever is logged in")
    func mapped() async throws {
        let phone = FakePhone(.storeKit1)
        await phone.apple.bring(Self.old)
        let queue = try await phone.launch(as: "ben", names: ["10042": "anna"])
        await queue.settle()
        #expect(await phone.server.posts.isEmpty)
        #expect(await queue.pending().map(\.outcome) == [.processing(.account("anna"))])
        await queue.logIn("anna")
        await phone.apple.waitForFinished(1)
        #expect(await phone.server.owners == ["7": "anna"])
    }

    @Test("a name that nobody knows waits, also through a restore and a claim, and no log-in gets it by its receipt")
    func unknown() async throws {
        let phone = FakePhone(.storeKit1)
        await phone.apple.bring(Self.old)
        await phone.apple.own([
            StoreTransaction(id: "8", productID: "pro", username: "10043", origin: .restored, proof: .receipt)
        ])
        let queue = try await phone.launch(as: "ben")
        #expect(try await queue.restore().reports.map(\.outcome) == [.processing(.legacyName("10043"))])
        await #expect(throws: PurchaseError.self) { try await queue.claim(transactionID: "7") }
        await queue.logIn("anna")
        await queue.enterForeground()
        await queue.settle()
        #expect(await phone.server.posts.isEmpty)
        #expect(await queue.pending().map(\.outcome) == [.processing(.legacyName("10042"))])
        await queue.stop()
        // The next version knows the name, and the store has forgotten it.
        await phone.apple.misbehave([.isSilentAtLaunch, .hidesEverything])
        let next = try await phone.launch(as: "anna", names: ["10042": "anna"])
        await phone.apple.waitForFinished(1)
        #expect(await phone.server.owners == ["7": "anna"])
        await next.stop()
    }

    @Test("a name is no order of this version: whoever is buying the same product does not get it")
    func beside() async throws {
        let phone = FakePhone(.storeKit1)
        let queue = try await phone.launch(as: "ben", names: ["10042": "anna"])
        await phone.apple.misbehave(.asksForApproval)
        #expect(try await queue.purchase("gems.100") == .pending)
        await phone.apple.bring(Self.old)
        await queue.lookAgain()
        #expect(await phone.server.posts.isEmpty)
        await phone.apple.misbehave([])
        try await phone.apple.approve()
        await phone.apple.waitForFinished(1)
        await queue.logIn("anna")
        await phone.apple.waitForFinished(2)
        #expect(await phone.server.owners["7"] == "anna")
        #expect(await Set(phone.server.owners.values) == ["anna", "ben"])
        #expect(await phone.server.grants.values.allSatisfy { $0 == 1 })
    }

    @Test("the sheet gives the old one as success: nobody who pressed the button gets it for that")
    func asSuccess() async throws {
        let phone = FakePhone(.storeKit1)
        let queue = try await phone.launch(as: "ben")
        await phone.apple.bring(Self.old)
        await phone.apple.misbehave(.givesEarlierAsSuccess)
        guard case .earlierPurchase(let report) = try await queue.purchase("gems.100") else {
            throw FakeStoreError.failed
        }
        #expect(report.outcome == .processing(.legacyName("10042")))
        #expect(await phone.server.posts.isEmpty)
    }

    @Test("the store remembers the name late: what was guessed meanwhile is taken back")
    func late() {
        var machine = QueueMachine(limits: QueueLimits(), legacyAccount: { $0 == "10042" ? "anna" : nil })
        var forgotten = Self.old
        forgotten.username = nil
        _ = machine.handle(.seen(forgotten, ordered: nil))
        _ = machine.start()
        _ = machine.handle(.seen(Self.old, ordered: nil))
        _ = machine.handle(.loggedIn("ben"))
        #expect(machine.pending.map(\.outcome) == [.processing(.account("anna"))])
        // And a look that has forgotten it again changes nothing.
        _ = machine.handle(.seen(forgotten, ordered: nil))
        #expect(machine.pending.map(\.outcome) == [.processing(.account("anna"))])
    }

    @Test("the journal keeps the name")
    func journal() throws {
        let record = JournalRecord.paid(Self.old, intent: nil, buyer: .legacy)
        #expect(JournalRecord(payload: try record.payload()) == record)
    }
}
