import Dispatch
import Foundation
import StoreTesting
import Testing

@testable import CountersignClient

/// A journal that is there and cannot be read, as before the first unlock after a restart.
@Suite("A journal that cannot be read yet", .timeLimit(.minutes(1)))
struct UnreadableJournalTests {
    /// A phone on which Anna bought something with StoreKit 1 that was not posted, and whose store forgot who bought it.
    private func phone() async throws -> FakePhone {
        let phone = FakePhone(.storeKit1)
        let first = try await phone.launch(as: "anna")
        await phone.apple.misbehave(.asksForApproval)
        #expect(try await first.purchase("gems.100") == .pending)
        await first.stop()
        await phone.apple.misbehave(.forgetsTokens)
        try await phone.apple.approve()
        phone.storage.isUnreadable = true
        return phone
    }

    @Test("nothing is guessed and nothing is posted for whoever is logged in; once it is read, it is the buyer's")
    func blind() async throws {
        let phone = try await phone()
        let queue = try await phone.launch(as: "ben")
        await queue.enterForeground()
        await queue.settle()
        #expect(await phone.server.posts.isEmpty)
        #expect(await queue.pending().map(\.outcome) == [.processing(.journal)])
        let error = await #expect(throws: PurchaseError.self) { try await queue.restore() }
        #expect(error?.code == .storageUnavailable)
        phone.storage.isUnreadable = false
        await queue.enterForeground()
        await queue.settle()
        #expect(await phone.server.posts.isEmpty)
        #expect(await queue.pending().map(\.outcome) == [.processing(.account("anna"))])
        #expect(try await queue.purchase("gems.100").isGranted)
        await queue.logIn("anna")
        await phone.apple.waitForFinished(2)
        #expect(await Set(phone.server.owners.values) == ["anna", "ben"])
    }

    @Test("it is opened again by itself, and what came meanwhile is in it then")
    func byItself() async throws {
        let phone = try await phone()
        let queue = try await phone.launch()
        await queue.settle()
        await phone.time.waitForSleepers(1)
        phone.time.advance(by: 1)
        // Still locked: the next pause.
        await phone.time.waitForSleepers(1)
        phone.storage.isUnreadable = false
        phone.time.advance(by: 2)
        while await !queue.pending().contains(where: { $0.outcome == .processing(.account("anna")) }) {
            await Task.yield()
        }
        await queue.settle()
        await queue.stop()
        await phone.apple.misbehave([.isSilentAtLaunch, .hidesEverything])
        let next = try await phone.launch()
        #expect(await next.pending().map(\.account) == ["anna"])
        await next.stop()
    }

    @Test("what Apple's signature names is posted meanwhile, and the journal has it afterwards")
    func named() async throws {
        let phone = FakePhone()
        phone.storage.isUnreadable = true
        let token = UUID()
        await phone.server.register(token, account: "anna")
        await phone.server.refuse("7")
        await phone.apple.bring(
            StoreTransaction(
                id: "7", productID: "gems.100", accountToken: token, proof: .signedTransaction("e30.7.AA")))
        let queue = try await phone.launch(as: "ben")
        await phone.server.waitForRequests(1)
        await queue.settle()
        phone.storage.isUnreadable = false
        await queue.enterForeground()
        await queue.settle()
        await queue.stop()
        await phone.apple.misbehave([.isSilentAtLaunch, .hidesEverything])
        let next = try await phone.launch()
        #expect(await next.pending().map(\.transactionID) == ["7"])
        await next.stop()
    }

    @Test(
        "who logs in, or out, while an earlier log-in opens the journal has the last word", arguments: ["ben", nil])
    func overtaken(next: String?) async throws {
        let phone = FakePhone()
        phone.storage.isUnreadable = true
        let queue = try await phone.launch()
        phone.storage.isUnreadable = false
        let (reads, read) = AsyncStream.makeStream(of: Void.self)
        let gate = DispatchSemaphore(value: 0)
        phone.storage.whileReading = {
            read.yield()
            gate.wait()
        }
        let early = Task { await queue.logIn("anna") }
        _ = await reads.first { _ in true }
        if let next { await queue.logIn(next) } else { await queue.logOut() }
        gate.signal()
        await early.value
        #expect(await queue.currentAccount == next)
        await queue.stop()
    }

    @Test("where there is no journal and none can be made, nothing of it is missing: what is paid is posted")
    func absent() async throws {
        let phone = FakePhone(.storeKit1)
        await phone.apple.bring(StoreTransaction(id: "7", productID: "gems.100", proof: .receipt))
        let address = try #require(URL(string: "https://purchases.example.com"))
        let queue = try await PurchaseQueue.open(
            QueueConfiguration(server: address, app: "com.example.game", folder: URL(fileURLWithPath: "/nowhere")),
            store: FakeStore(phone.apple, receipt: { _ in Data("receipt".utf8) }), transport: phone.server,
            credentials: FakeLogIn(["anna"]), time: phone.time,
            storage: { throw JournalStorageError("open: No space left on device", isAbsent: true) })
        await queue.start()
        await queue.logIn("anna")
        await phone.apple.waitForFinished(1)
        #expect(await phone.server.owners == ["7": "anna"])
        await queue.stop()
    }

    @Test("the folder is protected before a file is made in it")
    func protection() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "journal-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        var seen: [String]?
        let file = try JournalFile(folder: folder) {
            seen = try? FileManager.default.contentsOfDirectory(atPath: $0.path)
        }
        #expect(seen == [])
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).count == 2)
        file.close()
    }
}
