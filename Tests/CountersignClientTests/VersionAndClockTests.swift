import Foundation
import StoreTesting
import Testing

@testable import CountersignClient

@Suite("Updated apps, and clocks that are wrong", .timeLimit(.minutes(1)))
struct VersionAndClockTests {
    /// A journal as version 1 wrote it, and must be read for ever: an intent, what it became, two of which one is answered, and what a
    /// restore gave, which is left to the store.
    private static let written = [
        #"{"account":"anna","intent":"5A3B2C1D-0000-4000-8000-000000000001","kind":"intent","known_to_server":true,"product":"gems.100","state":"open"}"#,
        #"{"account":"anna","buyer":"account","intent":"5A3B2C1D-0000-4000-8000-000000000001","kind":"paid","origin":"purchase","product":"gems.100","quantity":1,"signed":"e30.11.AA","token":"5A3B2C1D-0000-4000-8000-000000000001","transaction":"11"}"#,
        #"{"buyer":"unknown","kind":"paid","origin":"renewal","original":"2","product":"vip","quantity":1,"transaction":"12"}"#,
        #"{"buyer":"unknown","kind":"paid","origin":"purchase","product":"pro","quantity":1,"signed":"e30.13.AA","transaction":"13"}"#,
        #"{"kind":"answered","transaction":"13"}"#,
        #"{"buyer":"unknown","kind":"paid","origin":"restored","original":"3","product":"castle","quantity":1,"transaction":"14"}"#,
        #"{"colour":"red","kind":"of_a_later_version"}"#,
    ]
    private static var journal: [UInt8] {
        JournalFormat.header + written.flatMap { JournalFormat.record(Array($0.utf8)) }
    }

    @Test("the journal that version 1 wrote is read to the letter, and what a later version added is kept")
    func firstVersion() async throws {
        let apple = FakeAppStore()
        let server = FakeServer(apple)
        let token = try #require(UUID(uuidString: "5A3B2C1D-0000-4000-8000-000000000001"))
        await server.register(token, account: "anna")
        await apple.bring(
            StoreTransaction(
                id: "11", productID: "gems.100", accountToken: token, proof: .signedTransaction("e30.11.AA")))
        await apple.misbehave([.isSilentAtLaunch, .hidesEverything])
        let phone = FakePhone(apple: apple, server: server, storage: MemoryStorage(Self.journal))
        let queue = try await phone.launch(as: "ben")
        await apple.waitForFinished(3)
        await queue.settle()
        #expect(await server.owners == ["11": "anna", "12": "ben"])
        #expect(await Set(apple.finished) == ["11", "12", "13"])
        #expect(await queue.pending().isEmpty)
        #expect(String(decoding: phone.storage.bytes, as: UTF8.self).contains("of_a_later_version"))
        await queue.stop()
    }

    @Test("an older app after a newer one begins anew with what the store has; the newer one finds its journal again")
    func olderApp() async throws {
        var newer = JournalFormat.header
        newer[8] = 2
        let checksum = CRC32.of(newer[0..<12])
        for index in 0..<4 { newer[12 + index] = UInt8(truncatingIfNeeded: checksum >> UInt32(8 * index)) }
        newer += Array("whatever it is".utf8)
        let phone = FakePhone(storage: MemoryStorage(newer))
        await phone.apple.bring(try await PlainSeller(firstID: 7).sell(StoreOrder(productID: "gems.100")))
        let queue = try await phone.launch(as: "anna")
        await phone.apple.waitForFinished(1)
        await queue.settle()
        #expect(phone.storage.readSetAside(as: "version-2") == newer)
        #expect(phone.log.lines.contains { $0.level == .warning && $0.message.contains("version 2") })
    }

    @Test("the library asks for no clock: nothing that is kept or decided can be wrong by it")
    func noClock() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Shared/CountersignClient/Sources")
        let files = try #require(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
        var count = 0
        for case let file as URL in files where file.pathExtension == "swift" {
            count += 1
            let text = try String(contentsOf: file, encoding: .utf8)
            for word in ["Date(", "Date.now", "ContinuousClock", "gettimeofday", "clock_gettime", "time(nil)"] {
                #expect(!text.contains(word), "\(file.lastPathComponent): \(word)")
            }
        }
        #expect(count > 15)
    }

    @Test("compaction forgets nothing that waits: a thousand purchases come and go, and the journal stays small")
    func compaction() async throws {
        var limits = QueueLimits()
        limits.compactionMinimum = 10_000
        limits.finishedMaximum = 20
        limits.intentsMaximum = 20
        let phone = FakePhone()
        let queue = try await phone.launch(as: "anna", limits: limits)
        await phone.apple.bring(
            StoreTransaction(id: "7", productID: "gems.100", proof: .signedTransaction("e30.7.AA")))
        await phone.server.refuse("7")
        for _ in 0..<1_000 { #expect(try await queue.purchase("gems.100").isGranted) }
        await queue.settle()
        #expect(phone.storage.bytes.count < 40_000)
        await queue.stop()
        await phone.apple.misbehave([.isSilentAtLaunch, .hidesEverything])
        let next = try await phone.launch(limits: limits)
        #expect(await next.pending().map(\.transactionID) == ["7"])
        #expect(await phone.server.grants.count == 1_000)
    }

    @Test("a queue that is full takes no further purchase, and what the store has beyond it is taken later")
    func full() async throws {
        var limits = QueueLimits()
        limits.purchasesMaximum = 3
        let phone = FakePhone()
        await phone.server.set(.unreachable)
        for number in 0..<5 {
            await phone.apple.bring(
                try await PlainSeller(firstID: 100 + number).sell(StoreOrder(productID: "gems.100")))
        }
        let queue = try await phone.launch(as: "anna", limits: limits)
        await queue.settle()
        #expect(await queue.pending().count == 3)
        let error = await #expect(throws: PurchaseError.self) { try await queue.purchase("gems.100") }
        #expect(error?.code == .queueFull)
        await phone.server.set(.works)
        await queue.networkIsReachable()
        await phone.apple.waitForFinished(3)
        await queue.settle()
        await queue.enterForeground()
        await phone.apple.waitForFinished(5)
        #expect(await phone.server.grants.count == 5)
    }
}
