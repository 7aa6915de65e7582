import BlockingThreads
import Foundation

/// Hands out transaction ids that are never handed out again, also after a crash.
///
/// The file says where the next block begins, and is on disk before any id of the block before it is used; a restart
/// skips what was left of a block. An actor on a thread of its own, because writing a file blocks.
actor TransactionIdentifiers {
    /// The first id: 16 digits, as Apple's have had since 2021.
    static let first: Int64 = 2_000_000_000_000_001
    /// Ids taken from the file at a time: one write for so many sales.
    private static let blockCount: Int64 = 100_000

    private let executor = ThreadExecutor(name: "transaction-ids")
    private let file: URL
    private var next: Int64 = 0
    private var blockEnd: Int64 = 0

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// - Parameter file: where the beginning of the next block is kept; made when it is missing.
    init(file: URL) {
        self.file = file
    }

    /// Takes `count` ids in a row.
    ///
    /// - Throws: ``StateDirectoryError`` when the file cannot be read or written; no id is lost or used by that.
    func take(_ count: Int) throws -> Range<Int64> {
        if next + Int64(count) > blockEnd {
            let start = try readStart()
            let end = start + max(Self.blockCount, Int64(count))
            try write(end)
            next = start
            blockEnd = end
        }
        defer { next += Int64(count) }
        return next..<(next + Int64(count))
    }

    /// Ends the thread.
    nonisolated func stop() {
        executor.stop()
    }

    private func readStart() throws -> Int64 {
        guard FileManager.default.fileExists(atPath: file.path) else { return Self.first }
        guard let text = try? String(contentsOf: file, encoding: .utf8),
            let start = Int64(text.trimmingCharacters(in: .whitespacesAndNewlines)), start >= Self.first
        else { throw StateDirectoryError(description: "\(file.path) does not hold a transaction id") }
        return start
    }

    /// Writes beside the file, forces it to disk, then renames: the old value or the new one, never half of it.
    private func write(_ value: Int64) throws {
        let partial = file.appendingPathExtension("partial")
        guard FileManager.default.createFile(atPath: partial.path, contents: Data("\(value)\n".utf8)),
            let handle = try? FileHandle(forWritingTo: partial)
        else { throw StateDirectoryError(description: "cannot write \(partial.path)") }
        try handle.synchronize()
        try handle.close()
        guard rename(partial.path, file.path) == 0 else {
            throw StateDirectoryError(description: "cannot write \(file.path)")
        }
    }
}
