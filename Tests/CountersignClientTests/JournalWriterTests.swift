import Foundation
import ProcessTesting
import StoreTesting
import Testing

@testable import CountersignClient

@Suite("The journal on a disk")
struct JournalWriterTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "journal-\(UUID().uuidString)")
    private static let record = JournalRecord.finished(PurchaseKey(id: "1", isRevoked: false))

    @Test("a new folder is made, and what was appended is there at the next start")
    func file() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let records = JournalRecordTests.records
        let first = JournalWriter(try JournalFile(folder: folder), limits: QueueLimits())
        #expect(try await first.open().records.isEmpty)
        for record in records { _ = try await first.append([record]) }
        await first.close()
        let second = JournalWriter(try JournalFile(folder: folder), limits: QueueLimits())
        let opened = try await second.open()
        #expect(opened.records == records)
        #expect(opened.remarks.isEmpty)
        try await second.compact(to: [Self.record])
        _ = try await second.append([Self.record])
        await second.close()
        let third = JournalWriter(try JournalFile(folder: folder), limits: QueueLimits())
        #expect(try await third.open().records == [Self.record, Self.record])
        await third.close()
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == [
                "purchases.journal", "purchases.lock",
            ])
    }

    @Test("a second queue, and another process, are told that the journal is in use; afterwards they may have it")
    func locked() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = try JournalFile(folder: folder)
        let error = #expect(throws: JournalStorageError.self) { try JournalFile(folder: folder) }
        #expect(error?.isInUse == true)
        #expect(try await lockElsewhere() == 1)
        file.close()
        #expect(try await lockElsewhere() == 0)
        try JournalFile(folder: folder).close()
    }

    @Test("a child that was forked meanwhile, and has the lock's descriptor, does not keep the lock")
    func forkedMeanwhile() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = try JournalFile(folder: folder)
        let path = folder.appending(path: "purchases.lock").path
        let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap(Int32.init)
        let lock = try #require(
            descriptors.first {
                (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")) == path
            })
        // The same description under another number, as a child has it.
        let childs = dup(lock)
        defer { close(childs) }
        file.close()
        try JournalFile(folder: folder).close()
    }

    /// Whether another process gets the lock; it says 1 when it does not.
    private func lockElsewhere() async throws -> Int32 {
        let lock = folder.appending(path: "purchases.lock").path
        return try await Program(path: "/usr/bin/flock", arguments: ["--nonblock", lock, "true"]).run().status
    }

    @Test("a folder that cannot be made is an error with the system's words")
    func noFolder() throws {
        let file = folder.appending(path: "file")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try Data().write(to: file)
        let error = #expect(throws: JournalStorageError.self) { try JournalFile(folder: file) }
        #expect(error?.isInUse == false)
    }

    @Test("a journal of a later version is set aside, and the later version takes it back")
    func versions() async throws {
        var later = JournalFormat.header
        later[8] = 2
        later.replaceSubrange(12..<16, with: Self.littleEndian(CRC32.of(later[0..<12])))
        later += JournalFormat.record(try Self.record.payload())
        let storage = MemoryStorage(later)
        let opened = try await JournalWriter(storage, limits: QueueLimits()).open()
        #expect(opened.records.isEmpty)
        #expect(opened.remarks.count == 1)
        #expect(storage.namesSetAside == ["version-2"])
        #expect(storage.bytes == JournalFormat.header)

        // The same from the other side: this version comes again after an older one had set its journal aside.
        let own = JournalFormat.header + JournalFormat.record(try Self.record.payload())
        let returned = MemoryStorage(JournalFormat.header)
        returned.putAside(own, as: "version-1")
        let writer = JournalWriter(returned, limits: QueueLimits())
        let taken = try await writer.open()
        #expect(taken.records == [Self.record])
        #expect(taken.isToBeCompacted)
        #expect(returned.namesSetAside == ["version-1"])
        try await writer.compact(to: taken.records)
        #expect(returned.namesSetAside.isEmpty)
        #expect(returned.bytes == own)
    }

    @Test("what is no journal is set aside, and a new one begins")
    func unreadable() async throws {
        let storage = MemoryStorage(Array("a page of a proxy".utf8))
        let opened = try await JournalWriter(storage, limits: QueueLimits()).open()
        #expect(opened.records.isEmpty)
        #expect(opened.remarks.count == 1)
        #expect(storage.namesSetAside == ["unreadable"])
    }

    @Test("a journal asks to be compacted once it has doubled, and takes no more than its limit")
    func limits() async throws {
        var limits = QueueLimits()
        limits.compactionMinimum = 1_000
        limits.journalMaximum = 2_000
        let writer = JournalWriter(MemoryStorage(), limits: limits)
        _ = try await writer.open()
        var count = 0
        while try await !writer.append([Self.record]) { count += 1 }
        #expect(count > 5)
        await #expect(throws: JournalStorageError.self) {
            for _ in 0..<100 { _ = try await writer.append([Self.record]) }
        }
        await #expect(throws: JournalStorageError.self) {
            try await writer.compact(to: Array(repeating: Self.record, count: 100))
        }
        try await writer.compact(to: [Self.record])
        #expect(try await !writer.append([Self.record]))
    }

    private static func littleEndian(_ number: UInt32) -> [UInt8] {
        [0, 8, 16, 24].map { UInt8(truncatingIfNeeded: number >> UInt32($0)) }
    }
}
