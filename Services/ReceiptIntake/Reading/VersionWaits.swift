import Hummingbird
import Persistence
import PurchaseModel
import ServiceLifecycle
import Synchronization

/// Requests that wait until an account has reached a version.
///
/// Nothing tells this process of another's commits in time, so each request that waits looks by itself: few of them,
/// seldom, by primary key.
final class VersionWaits: Sendable {
    /// The time between two looks of one request.
    static let lookInterval: Duration = .milliseconds(250)
    /// The most requests that wait at a time, four looks a second each; more are answered at once with what is known.
    static let waitersMaximum = 100

    /// Reads an account's version; see `AccountStore.version`.
    typealias Version = @Sendable (Customer) async throws -> Int64

    private let waitersMaximum: Int
    private let version: Version
    private let waiting = Mutex(0)

    /// Waits by looking with `version`.
    init(waitersMaximum: Int = VersionWaits.waitersMaximum, version: @escaping Version) {
        self.waitersMaximum = waitersMaximum
        self.version = version
    }

    /// How many wait.
    var count: Int { waiting.withLock { $0 } }

    /// Returns as soon as the account has the version; else when the time is up, the caller has gone, the process is to
    /// stop, or at once when too many wait.
    ///
    /// - Throws: what the reading throws.
    func wait(
        for customer: Customer, atLeast least: Int64, within time: Duration,
        connection: ConnectionSignals.Connection?
    ) async throws {
        guard time > .zero, enter() else { return }
        defer { waiting.withLock { $0 -= 1 } }
        let (ends, end) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        connection?.onClose { end.finish() }
        defer { connection?.forget() }
        try await withTaskCancellationOrGracefulShutdownHandler {
            try await look(for: customer, atLeast: least, within: time, until: ends)
        } onCancelOrGracefulShutdown: {
            end.finish()
        }
    }

    private func enter() -> Bool {
        waiting.withLock { waiting in
            guard waiting < waitersMaximum else { return false }
            waiting += 1
            return true
        }
    }

    @inline(never)
    private func look(
        for customer: Customer, atLeast least: Int64, within time: Duration, until ends: AsyncStream<Void>
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.look(for: customer, atLeast: least) }
            group.addTask { for await _ in ends {} }
            group.addTask { try? await Task.sleep(for: time) }
            // The first that ends, ends the others; what they throw then concerns nobody.
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    @inline(never)
    private func look(for customer: Customer, atLeast least: Int64) async throws {
        while try await version(customer) < least {
            try await Task.sleep(for: Self.lookInterval)
        }
    }
}
