import CountersignClient
import Synchronization

/// A journal in memory, which outlives a launch, may be full, and may be cut off in the middle of a write.
package final class MemoryStorage: JournalStorage, Sendable {
    private struct State {
        var bytes: [UInt8] = []
        var setAside: [String: [UInt8]] = [:]
        var isFull = false
        var isUnreadable = false
        var whileReading: (@Sendable () -> Void)?
        var writeCount = 0
    }

    private let state: Mutex<State>

    package init(_ bytes: [UInt8] = []) {
        state = Mutex(State(bytes: bytes))
    }

    /// What the file holds; a test may damage it.
    package var bytes: [UInt8] {
        get { state.withLock { $0.bytes } }
        set { state.withLock { $0.bytes = newValue } }
    }

    /// Whether the disk is full.
    package var isFull: Bool {
        get { state.withLock { $0.isFull } }
        set { state.withLock { $0.isFull = newValue } }
    }

    /// Whether reading fails.
    package var isUnreadable: Bool {
        get { state.withLock { $0.isUnreadable } }
        set { state.withLock { $0.isUnreadable = newValue } }
    }

    /// What reading waits for.
    package var whileReading: (@Sendable () -> Void)? {
        get { state.withLock { $0.whileReading } }
        set { state.withLock { $0.whileReading = newValue } }
    }

    /// How often it was written and flushed.
    package var writeCount: Int {
        state.withLock { $0.writeCount }
    }

    /// The names of what was set aside.
    package var namesSetAside: [String] {
        state.withLock { $0.setAside.keys.sorted() }
    }

    /// Puts bytes where another version would have set them aside.
    package func putAside(_ bytes: [UInt8], as suffix: String) {
        state.withLock { $0.setAside[suffix] = bytes }
    }

    package func read() throws -> [UInt8] {
        whileReading?()
        guard !isUnreadable else { throw JournalStorageError("read: Input/output error") }
        return bytes
    }

    package func append(_ bytes: [UInt8]) throws {
        try write { $0.bytes += bytes }
    }

    package func replace(with bytes: [UInt8]) throws {
        try write { $0.bytes = bytes }
    }

    package func setAside(as suffix: String) throws {
        state.withLock {
            $0.setAside[suffix] = $0.bytes
            $0.bytes = []
        }
    }

    package func readSetAside(as suffix: String) -> [UInt8]? {
        state.withLock { $0.setAside[suffix] }
    }

    package func removeSetAside(as suffix: String) {
        state.withLock { $0.setAside[suffix] = nil }
    }

    package func close() {}

    private func write(_ change: (inout State) -> Void) throws {
        try state.withLock { state in
            guard !state.isFull else { throw JournalStorageError("write: No space left on device") }
            state.writeCount += 1
            change(&state)
        }
    }
}
