import Foundation
import Logging
import Persistence
import ServiceRuntime
import Synchronization

/// When each server key was used last, as this process has seen it, until that is written down.
final class ServerKeyUses: Sendable {
    enum Limit {
        /// Between two writings: a row is changed so often at most.
        static let interval = Duration.seconds(60)
        /// The longest wait after a writing that failed.
        static let failureDelayMaximum = Duration.seconds(300)
    }

    private let uses = Mutex<[ServerKeyUseStore.Key: Date]>([:])

    /// Notes a use.
    func note(_ key: ServerKey, app: String, at time: Date) {
        uses.withLock { $0[ServerKeyUseStore.Key(app: app, fingerprint: key.fingerprint)] = time }
    }

    /// What writes them down again and again.
    func task(_ store: ServerKeyUseStore, logger: Logger) -> PeriodicTask {
        PeriodicTask(
            "server-key-uses", schedule: .init(every: Limit.interval, failureDelayMaximum: Limit.failureDelayMaximum),
            logger: logger
        ) { [self] in try await write(to: store) }
    }

    /// Writes down what was noted since the last time; nothing is asked of the database where that is nothing.
    ///
    /// - Throws: `PostgresError`; then it is written the next time.
    func write(to store: ServerKeyUseStore) async throws {
        let taken = uses.withLock { uses in
            defer { uses = [:] }
            return uses
        }
        guard !taken.isEmpty else { return }
        do {
            try await store.write(taken)
        } catch {
            uses.withLock { $0.merge(taken) { newer, _ in newer } }
            throw error
        }
    }
}
