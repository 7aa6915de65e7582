import Foundation
import StoreTesting
import Testing

@testable import CountersignClient

/// What a journal with a thousand unfinished purchases costs; `Tests/Benchmarks/client` prints it.
@Suite("A thousand unfinished purchases", .timeLimit(.minutes(1)))
struct ThousandPurchasesTests {
    private static let count = 1_000
    /// Signed transactions are of this length, most of it the certificate chain.
    private static let signedLength = 5_000
    private let folder = FileManager.default.temporaryDirectory.appending(path: "thousand-\(UUID().uuidString)")

    @Test("they are read at once, posted, and gone")
    func thousand() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let apple = FakeAppStore()
        let server = FakeServer(apple)
        try await fill()
        let size = try FileManager.default.attributesOfItem(atPath: folder.appending(path: "purchases.journal").path)
        let before = Self.residentBytes()
        let start = ContinuousClock.now
        let queue = try await open(FakeStore(apple), server)
        let opened = ContinuousClock.now - start
        let grown = Self.residentBytes() - before
        #expect(await queue.pending().count == Self.count)
        await queue.start()
        let started = ContinuousClock.now
        await queue.logIn("anna")
        await apple.waitForFinished(Self.count)
        await queue.settle()
        let posted = ContinuousClock.now - started
        #expect(await queue.pending().isEmpty)
        #expect(await server.grants.count == Self.count)
        await queue.stop()
        let next = try await open(FakeStore(apple), server)
        #expect(await next.pending().isEmpty)
        await next.stop()
        print(
            "\(Self.count) purchases: journal \(size[.size] ?? 0) bytes, opened in \(opened), \(grown) bytes of memory,",
            "posted and finished in \(posted) without a network")
    }

    /// A journal as a device without a network leaves it.
    private func fill() async throws {
        let writer = JournalWriter(try JournalFile(folder: folder), limits: QueueLimits())
        _ = try await writer.open()
        let filling = String(repeating: "A", count: Self.signedLength)
        let records = (0..<Self.count).map { number in
            JournalRecord.paid(
                StoreTransaction(
                    id: "\(number)", productID: "gems.100", proof: .signedTransaction("\(filling).\(number).AA")),
                intent: nil, buyer: .unknown)
        }
        _ = try await writer.append(records)
        await writer.close()
    }

    private func open(_ store: FakeStore, _ server: FakeServer) async throws -> PurchaseQueue {
        let address = try #require(URL(string: "https://purchases.example.com"))
        return try await PurchaseQueue.open(
            QueueConfiguration(server: address, app: "com.example.game", folder: folder), store: store,
            transport: server, credentials: FakeLogIn(["anna"]))
    }

    /// This process's memory in bytes, of Linux.
    private static func residentBytes() -> Int {
        let statm = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
        let pages = statm.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return pages * 4_096
    }
}
