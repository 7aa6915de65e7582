import JSONWebKeys
import Synchronization

/// The newest key set of a source; requests read it and never wait for the network.
final class KeySetCache: Sendable {
    /// The shortest time between refreshes that tokens with unknown keys bring about: anybody can invent such tokens.
    static let requestedRefreshInterval = Duration.seconds(10)

    private struct State {
        var keySet: KeySet?
        var number = 0
        var onRequest: (@Sendable () -> Void)?
        var requestedAt: ContinuousClock.Instant?
    }

    private let state = Mutex(State())

    /// The keys; nil until they were fetched for the first time.
    var current: KeySet? { state.withLock { $0.keySet } }

    /// Another one with each set of keys that was taken.
    var number: Int { state.withLock { $0.number } }

    /// Takes newer keys.
    func update(_ keySet: KeySet) {
        state.withLock { state in
            state.keySet = keySet
            state.number += 1
        }
    }

    /// Has `action` called when a refresh is wanted.
    func onRefreshRequest(_ action: @escaping @Sendable () -> Void) {
        state.withLock { $0.onRequest = action }
    }

    /// Asks for newer keys, but not too often.
    func requestRefresh(now: ContinuousClock.Instant = .now) {
        let action: (@Sendable () -> Void)? = state.withLock { state in
            if let last = state.requestedAt, now - last < Self.requestedRefreshInterval { return nil }
            state.requestedAt = now
            return state.onRequest
        }
        action?()
    }
}
