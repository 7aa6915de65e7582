import Dispatch

/// A journal: records in, records out, on a thread of its own.
// Safety: `storage`, `lengthWritten` and `lengthCompacted` are used on `queue` only.
final class JournalWriter: @unchecked Sendable {
    private let queue = DispatchQueue(label: "countersign.journal")
    private let storage: any JournalStorage
    private let limits: QueueLimits
    private var lengthWritten = 0
    private var lengthCompacted = 0

    /// What a journal holds when it is opened.
    struct Opened: Sendable {
        var records: [JournalRecord] = []
        /// What somebody should know, one sentence each.
        var remarks: [String] = []
        /// Whether it should be written anew: damaged, of another version, or from what was set aside.
        var isToBeCompacted = false
        /// Why it cannot be written now, although it was read.
        var writeError: String?
    }

    init(_ storage: any JournalStorage, limits: QueueLimits) {
        self.storage = storage
        self.limits = limits
    }

    /// Reads everything.
    ///
    /// - Throws: `JournalStorageError`.
    func open() async throws -> Opened {
        try await onQueue { [self] in
            let bytes = try storage.read()
            lengthWritten = bytes.count
            lengthCompacted = bytes.count
            var opened = Opened()
            if bytes.isEmpty {
                begin(&opened)
            } else {
                try take(bytes, into: &opened)
            }
            takeBack(into: &opened)
            return opened
        }
    }

    /// Adds records; they are on disk when it returns.
    ///
    /// - Returns: whether the journal has grown so much that it should be compacted.
    /// - Throws: `JournalStorageError`, `EncodingError`.
    func append(_ records: [JournalRecord]) async throws -> Bool {
        try await onQueue { [self] in
            var bytes: [UInt8] = []
            for record in records { bytes += JournalFormat.record(try record.payload()) }
            guard lengthWritten + bytes.count <= limits.journalMaximum else {
                throw JournalStorageError("the journal has \(lengthWritten) bytes of \(limits.journalMaximum)")
            }
            try storage.append(bytes)
            lengthWritten += bytes.count
            return lengthWritten >= limits.compactionMinimum && lengthWritten >= 2 * lengthCompacted
        }
    }

    /// Writes these records in place of all others.
    ///
    /// - Throws: `JournalStorageError`, `EncodingError`.
    func compact(to records: [JournalRecord]) async throws {
        try await onQueue { [self] in
            var bytes = JournalFormat.header
            for record in records { bytes += JournalFormat.record(try record.payload()) }
            guard bytes.count <= limits.journalMaximum else {
                throw JournalStorageError("the journal would have \(bytes.count) bytes")
            }
            try storage.replace(with: bytes)
            lengthWritten = bytes.count
            lengthCompacted = bytes.count
            storage.removeSetAside(as: "version-\(JournalFormat.version)")
        }
    }

    /// Lets go of the file and its lock.
    func close() async {
        _ = try? await onQueue { [self] in storage.close() }
    }

    private func take(_ bytes: [UInt8], into opened: inout Opened) throws {
        let content = JournalFormat.read(bytes)
        guard let version = content.version else {
            try storage.setAside(as: "unreadable")
            opened.remarks.append("the journal of \(bytes.count) bytes was unreadable and is set aside")
            begin(&opened)
            return
        }
        guard version == JournalFormat.version else {
            // An older app after a newer one: the newer one takes it back.
            try storage.setAside(as: "version-\(version)")
            opened.remarks.append("the journal is of version \(version) and is set aside")
            begin(&opened)
            return
        }
        read(content, into: &opened)
    }

    /// Begins a new journal; a disk that is full may have room later.
    private func begin(_ opened: inout Opened) {
        do {
            try storage.replace(with: JournalFormat.header)
            lengthWritten = JournalFormat.headerLength
        } catch {
            opened.writeError = "\(error)"
        }
    }

    /// Reads what an older app had set aside because this version wrote it.
    private func takeBack(into opened: inout Opened) {
        guard let bytes = storage.readSetAside(as: "version-\(JournalFormat.version)") else { return }
        opened.remarks.append("a journal that an older version had set aside is taken back")
        opened.isToBeCompacted = true
        var old = Opened()
        read(JournalFormat.read(bytes), into: &old)
        opened.records = old.records + opened.records
    }

    private func read(_ content: JournalFormat.Content, into opened: inout Opened) {
        let records = content.payloads.compactMap { JournalRecord(payload: $0) }
        opened.records += records
        let lost = content.payloads.count - records.count
        if lost > 0 { opened.remarks.append("\(lost) records of the journal are no records") }
        if content.damagedBytes > 0 {
            opened.remarks.append(
                content.isDamagedAtEndOnly
                    ? "the last write was cut off: \(content.damagedBytes) bytes"
                    : "\(content.damagedBytes) bytes of the journal are damaged; all other records were read")
        }
        if lost > 0 || content.damagedBytes > 0 { opened.isToBeCompacted = true }
    }

    private func onQueue<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Result { try body() }) }
        }
    }
}
