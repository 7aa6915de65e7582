import Foundation
import StoreTesting
import Testing

@testable import CountersignClient

@Suite("Accounts on one phone", .timeLimit(.minutes(1)))
struct AccountTests {
    @Test("without an account nothing is posted, nothing is lost, and a purchase is an error before any payment sheet")
    func nobody() async throws {
        let phone = FakePhone()
        let queue = try await phone.launch()
        let error = await #expect(throws: PurchaseError.self) { try await queue.purchase("gems.100") }
        #expect(error?.code == .accountRequired)
        #expect(await phone.apple.sheetCount == 0)
        #expect(await phone.server.requestCount == 0)
    }

    @Test("the player changes between the button and the queue: nothing is bought for whoever did not press it")
    func switchedBefore() async throws {
        let phone = FakePhone()
        let queue = try await phone.launch(as: "ben")
        let error = await #expect(throws: PurchaseError.self) { try await queue.purchase("gems.100", for: "anna") }
        #expect(error?.code == .accountChanged && error?.isNothingPaid == true)
        #expect(await phone.apple.sheetCount == 0)
        #expect(await phone.server.requestCount == 0)
        #expect(try await queue.purchase("gems.100", for: "ben").isGranted)
        #expect(await Set(phone.server.owners.values) == ["ben"])
    }

    @Test("the player changes while the payment sheet is open: it is the buyer's, and the new player stays logged in")
    func switchedMeanwhile() async throws {
        let phone = FakePhone(.storeKit1)
        let queue = try await phone.launch(as: "anna")
        await phone.apple.misbehave(.asksForApproval)
        #expect(try await queue.purchase("gems.100") == .pending)
        await queue.logIn("ben")
        await phone.apple.misbehave([])
        try await phone.apple.approve()
        await queue.lookAgain()
        #expect(await phone.server.posts.isEmpty)
        #expect(await queue.pending().map(\.account) == ["anna"])
        // Ben buys meanwhile, and nothing of it is mixed up.
        #expect(try await queue.purchase("gems.100").isGranted)
        await queue.logOut()
        await queue.logIn("anna")
        await phone.apple.waitForFinished(2)
        #expect(await Set(phone.server.owners.values) == ["anna", "ben"])
        #expect(await phone.server.grants.values.map { $0 } == [1, 1])
    }

    @Test("two players were buying and the store forgot which: Apple is asked, and nobody has it by possession")
    func doubt() async throws {
        let phone = FakePhone(.storeKit1)
        await phone.apple.misbehave(.asksForApproval)
        let first = try await phone.launch(as: "anna")
        #expect(try await first.purchase("gems.100") == .pending)
        await first.logIn("ben")
        await phone.apple.misbehave(.isCancelled)
        #expect(try await first.purchase("gems.100") == .cancelled)
        await phone.apple.misbehave(.failsWithoutPaying)
        _ = try? await first.purchase("gems.100")
        await first.stop()
        await phone.apple.misbehave(.forgetsTokens)
        try await phone.apple.approve()
        let second = try await phone.launch(as: "ben")
        await phone.server.waitForRequests(4)
        await second.settle()
        #expect(await phone.server.posts.map(\.isReceipt) == [false])
        #expect(await second.pending().map(\.outcome) == [.processing(.claim)])
        #expect(await phone.apple.finished.isEmpty)
        await second.logIn("anna")
        await phone.apple.waitForFinished(1)
        #expect(await phone.server.owners.values.map { $0 } == ["anna"])
    }

    @Test("what only a person can decide is decided by a claim")
    func claim() async throws {
        let phone = FakePhone(.storeKit1)
        let queue = try await phone.launch(as: "anna")
        await phone.apple.misbehave(.failsWithoutPaying)
        _ = try? await queue.purchase("gems.100")
        await queue.logIn("ben")
        _ = try? await queue.purchase("gems.100")
        await queue.logOut()
        // Of this one Apple knows no token: neither of the two orders became it.
        await phone.apple.bring(StoreTransaction(id: "7", productID: "gems.100", proof: .receipt))
        await queue.lookAgain()
        await queue.logIn("ben")
        await phone.server.waitForRequests(3)
        await queue.settle()
        #expect(await queue.pending().map(\.outcome) == [.processing(.claim)])
        await #expect(throws: PurchaseError.self) { try await queue.claim(transactionID: "8") }
        try await queue.claim(transactionID: "7")
        await phone.apple.waitForFinished(1)
        #expect(await phone.server.owners == ["7": "ben"])
        await queue.settle()
        await queue.stop()
        let next = try await phone.launch(as: "anna")
        await next.settle()
        #expect(await next.pending().isEmpty)
    }

    @Test(
        "a token of another device is Apple's word: signed, anybody may bring it; by a receipt, only its number is posted"
    )
    func tokenOfAnotherDevice() async throws {
        let signed = FakePhone()
        let token = UUID()
        await signed.server.register(token, account: "anna")
        await signed.apple.bring(
            StoreTransaction(
                id: "7", productID: "gems.100", accountToken: token, proof: .signedTransaction("e30.7.AA")))
        let first = try await signed.launch(as: "ben")
        await signed.apple.waitForFinished(1)
        #expect(await signed.server.owners == ["7": "anna"])
        await first.stop()

        let legacy = FakePhone(.storeKit1)
        await legacy.server.register(token, account: "anna")
        await legacy.apple.bring(
            StoreTransaction(id: "7", productID: "gems.100", accountToken: token, proof: .receipt))
        let second = try await legacy.launch(as: "ben")
        await legacy.server.waitForRequests(1)
        await second.settle()
        #expect(await legacy.server.posts.map(\.isReceipt) == [false])
        #expect(await legacy.apple.finished.isEmpty)
        await second.logIn("anna")
        await legacy.apple.waitForFinished(1)
        #expect(await legacy.server.owners == ["7": "anna"])
    }

    @Test("a token that the server refuses: told once, nobody is logged out, and the next log-in goes on")
    func refusedToken() async throws {
        let phone = FakePhone()
        await phone.server.refuse(account: "anna", true)
        await phone.apple.bring(try await PlainSeller(firstID: 7).sell(StoreOrder(productID: "gems.100")))
        await phone.apple.bring(try await PlainSeller(firstID: 8).sell(StoreOrder(productID: "gems.100")))
        let queue = try await phone.open()
        let updates = await queue.updates()
        await queue.start()
        await queue.logIn("anna")
        await phone.server.waitForRequests(2)
        await queue.settle()
        #expect(await queue.pending().count == 2)
        await phone.server.refuse(account: "anna", false)
        await queue.logIn("anna")
        await phone.apple.waitForFinished(2)
        await queue.stop()
        var refusals = 0
        for await update in updates where update == .credentialsRefused(account: "anna") { refusals += 1 }
        #expect(refusals == 1)
    }

    @Test("an account without a token waits; another one's purchases go on")
    func noToken() async throws {
        let phone = FakePhone(.storeKit1)
        await phone.apple.bring(StoreTransaction(id: "7", productID: "gems.100", proof: .receipt))
        let queue = try await phone.launch(as: "stranger")
        await queue.settle()
        #expect(await phone.server.requestCount == 0)
        await queue.logIn("anna")
        await phone.apple.waitForFinished(1)
        #expect(await phone.server.owners == ["7": "anna"])
    }

    @Test("a server that gives no intent: no payment sheet; or one without a token, whose account the journal knows")
    func noIntent() async throws {
        let phone = FakePhone()
        await phone.server.set(.unreachable)
        let strict = try await phone.launch(as: "anna")
        let error = await #expect(throws: PurchaseError.self) { try await strict.purchase("gems.100") }
        #expect(error?.code == .serverUnavailable)
        #expect(await phone.apple.sheetCount == 0)
        await strict.stop()

        await phone.apple.misbehave(.failsAfterPaying)
        let lenient = try await phone.launch(as: "anna", intents: .preferred)
        _ = try? await lenient.purchase("gems.100")
        await lenient.stop()
        await phone.server.set(.works)
        let next = try await phone.launch(as: "ben")
        await next.settle()
        #expect(await phone.server.posts.isEmpty)
        await next.logIn("anna")
        await phone.apple.waitForFinished(1)
        #expect(await phone.server.owners.values.map { $0 } == ["anna"])
    }
}
