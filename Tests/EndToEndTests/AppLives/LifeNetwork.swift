import CountersignClient
import Foundation
import StoreTesting
import Synchronization

/// The way from a phone to the real intake, which breaks.
final class LifeNetwork: ServerTransport {
    enum State: CaseIterable {
        case up, down
        /// The server gets everything, and the phone hears nothing.
        case losesAnswers
    }

    private let transport: HTTPClientTransport
    private let record: LifeRecord
    private let state = Mutex(State.up)

    init(_ transport: HTTPClientTransport, _ record: LifeRecord) {
        self.transport = transport
        self.record = record
    }

    func set(_ state: State) {
        self.state.withLock { $0 = state }
    }

    func send(_ request: ServerRequest) async throws -> ServerAnswer {
        guard state.withLock({ $0 }) != .down else { throw FakeStoreError.failed }
        let answer = try await transport.send(request)
        await record.answered(request, answer)
        guard state.withLock({ $0 }) == .up else { throw FakeStoreError.failed }
        return answer
    }
}

/// Time that passes forty times as fast for the queue's pauses, so that a life is short.
struct LifeTime: QueueTime {
    func sleep(seconds: Double) async throws {
        // This is the time that the queue waits for, only shorter.
        try await Task.sleep(for: .milliseconds(Int(seconds * 1_000 / 40)))
    }
}

/// A log-in that has a token for every account.
struct LifeLogIn: PlayerCredentials {
    let secret: String

    func token(of account: String, isRefreshing: Bool) async throws -> String? {
        try PlayerToken.make(of: account, secret: secret)
    }
}

/// A journal on the disk whose last write is cut off when the app is killed.
final class LifeStorage: JournalStorage {
    private let file: any JournalStorage
    private let end: LifeEnd

    init(_ file: any JournalStorage, _ end: LifeEnd) {
        self.file = file
        self.end = end
    }

    func read() throws -> [UInt8] { try file.read() }

    func append(_ bytes: [UInt8]) throws {
        guard let length = end.lengthWritten(of: bytes.count) else { return try file.append(bytes) }
        try file.append(Array(bytes.prefix(length)))
        throw JournalStorageError("the app was killed")
    }

    func replace(with bytes: [UInt8]) throws {
        guard end.lengthWritten(of: 0) == nil else { throw JournalStorageError("the app was killed") }
        try file.replace(with: bytes)
    }

    func setAside(as suffix: String) throws { try file.setAside(as: suffix) }
    func readSetAside(as suffix: String) -> [UInt8]? { file.readSetAside(as: suffix) }
    func removeSetAside(as suffix: String) { file.removeSetAside(as: suffix) }
    func close() { file.close() }
}

/// Whether an app was killed, and how much of a write that was under way got to the disk.
final class LifeEnd: Sendable {
    private struct State {
        var isDead = false
        var share = 0.0
    }

    private let state = Mutex(State())

    /// Kills the app; of a write that is under way this share gets to the disk, and nothing of later ones.
    func kill(share: Double) {
        state.withLock { $0 = State(isDead: true, share: share) }
    }

    /// How much of a write is done; nil for all of it.
    func lengthWritten(of count: Int) -> Int? {
        state.withLock { state in
            guard state.isDead else { return nil }
            defer { state.share = 0 }
            return Int(Double(count) * state.share)
        }
    }
}
