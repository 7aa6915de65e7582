import Foundation
import StoreTesting
import Testing

@testable import CountersignClient

@Suite("Restoring", .timeLimit(.minutes(1)))
struct RestoreTests {
    private static let own = StoreTransaction(
        id: "20", originalID: "2", productID: "pro", origin: .restored, proof: .signedTransaction("e30.20.AA"))

    @Test("each transaction has its result, another player's too")
    func results() async throws {
        let phone = FakePhone()
        let token = UUID()
        let bens = StoreTransaction(
            id: "30", originalID: "3", productID: "levels", accountToken: token, origin: .restored,
            proof: .signedTransaction("e30.30.AA"))
        let forged = StoreTransaction(
            id: "40", productID: "pro", origin: .restored, proof: .signedTransaction("e30.40.AA"))
        await phone.server.register(token, account: "ben")
        await phone.server.refuse("40")
        let queue = try await phone.launch(as: "anna")
        await phone.apple.bring(bens)
        await phone.apple.waitForFinished(1)
        await phone.apple.own([Self.own, bens, Self.own, forged])
        let result = try await queue.restore()
        #expect(result.reports.map(\.transactionID) == ["20", "30", "40"])
        #expect(
            result.reports.map(\.outcome) == [.granted, .belongsToAnother, .refused(reason: "signature_invalid")])
        #expect(result.grantedCount == 1)
        #expect(await phone.server.owners == ["20": "anna", "30": "ben"])
        await queue.settle()
        #expect(await Set(phone.apple.finished) == ["20", "30"])
    }

    @Test("restoring twice gives the same, and a restore that brings nothing is empty")
    func twice() async throws {
        let phone = FakePhone()
        let queue = try await phone.launch(as: "anna")
        #expect(try await queue.restore() == RestoreResult(reports: []))
        await phone.apple.own([Self.own])
        let first = try await queue.restore()
        let second = try await queue.restore()
        #expect(first == second)
        #expect(first.grantedCount == 1)
        #expect(await phone.server.grants == ["20": 1])
    }

    @Test("while the server is away each is reported as processing, and goes on afterwards")
    func away() async throws {
        let phone = FakePhone()
        let queue = try await phone.launch(as: "anna")
        await phone.apple.own([Self.own])
        await phone.server.set(.unreachable)
        async let result = queue.restore()
        await phone.server.waitForRequests(1)
        // The patience of the restore, and the pause of the queue.
        await phone.time.waitForSleepers(2)
        phone.time.advance(by: 60)
        #expect(try await result.reports.map(\.outcome) == [.processing(.server)])
        // The try after the pause has failed, too; a hint that comes while it is under way would have to wait.
        await phone.server.waitForRequests(2)
        await phone.time.waitForSleepers(1)
        await phone.server.set(.works)
        await queue.networkIsReachable()
        await phone.apple.waitForFinished(1)
        #expect(await phone.server.owners == ["20": "anna"])
    }

    @Test("what one player restored is not given to the next")
    func switched() async throws {
        let phone = FakePhone(.storeKit1)
        let queue = try await phone.launch(as: "anna")
        await phone.apple.own([StoreTransaction(id: "20", productID: "pro", origin: .restored, proof: .receipt)])
        await phone.server.set(.unreachable)
        async let result = queue.restore()
        await phone.server.waitForRequests(1)
        await phone.time.waitForSleepers(2)
        await phone.server.set(.works)
        await queue.logIn("ben")
        await queue.settle()
        phone.time.advance(by: 60)
        #expect(try await result.reports.map(\.outcome) == [.processing(.server)])
        await queue.settle()
        #expect(await phone.server.posts.isEmpty)
        #expect(await queue.pending().isEmpty)
    }

    @Test(
        "the player changes before the restore, or while the store asks for the password: nothing is the next one's",
        arguments: [PlainSeller.Interface.storeKit1, .storeKit2])
    func switchedBefore(interface: PlainSeller.Interface) async throws {
        let phone = FakePhone(interface)
        let queue = try await phone.launch(as: "ben")
        await phone.apple.own([
            StoreTransaction(
                id: "20", productID: "pro", origin: .restored,
                proof: interface == .storeKit1 ? .receipt : .signedTransaction("e30.20.AA"))
        ])
        let early = await #expect(throws: PurchaseError.self) { try await queue.restore(for: "anna") }
        #expect(early?.code == .accountChanged)
        await queue.logIn("anna")
        await phone.apple.restoring { await queue.logIn("ben") }
        let late = await #expect(throws: PurchaseError.self) { try await queue.restore(for: "anna") }
        #expect(late?.code == .accountChanged && late?.isNothingPaid == true)
        await queue.settle()
        #expect(await phone.server.posts.isEmpty)
        #expect(await phone.server.owners.isEmpty)
        #expect(await queue.pending().isEmpty)
        await phone.apple.restoring(nil)
        #expect(try await queue.restore(for: "ben").grantedCount == 1)
    }

    @Test("a restored receipt is posted whole, since the server's policy decides about what is restored")
    func receipt() async throws {
        let phone = FakePhone(.storeKit1)
        let queue = try await phone.launch(as: "anna")
        await phone.apple.own([
            StoreTransaction(id: "20", productID: "pro", accountToken: UUID(), origin: .restored, proof: .receipt)
        ])
        #expect(try await queue.restore().grantedCount == 1)
        #expect(await phone.server.posts.map(\.isReceipt) == [true])
    }

    @Test("nobody is logged in: an error, and the store is not asked")
    func nobody() async throws {
        let phone = FakePhone()
        let queue = try await phone.launch()
        let error = await #expect(throws: PurchaseError.self) { try await queue.restore() }
        #expect(error?.code == .accountRequired)
    }

    @Test("what was refunded comes again under the same id, and is posted once more")
    func revoked() async throws {
        let phone = FakePhone()
        let queue = try await phone.launch(as: "anna")
        #expect(try await queue.purchase("gems.100").isGranted)
        await queue.settle()
        var refunded = try #require(await phone.apple.sold.first)
        refunded.isRevoked = true
        await phone.apple.repeatUpdate(refunded)
        await phone.apple.waitForFinished(2)
        await queue.settle()
        await phone.apple.repeatUpdate(refunded)
        await phone.apple.waitForFinished(3)
        await queue.settle()
        #expect(await phone.server.posts.count == 2)
        #expect(await queue.pending().isEmpty)
    }
}
