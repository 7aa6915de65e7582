import Synchronization

/// Lets so many pieces of work be done at a time; of those that wait, one of each asker, in order of arrival.
public final class FairTurns: Sendable {
    private struct State {
        var taken = 0
        var line = FairLine<UInt64>()
        var waiting: [UInt64: CheckedContinuation<Bool, Never>] = [:]
        var lastTicket: UInt64 = 0
    }

    private let maximum: Int
    private let waitingMaximum: Int
    private let state = Mutex(State())

    /// - Parameters:
    ///   - maximum: pieces of work at a time; at least 1.
    ///   - waitingMaximum: pieces that may wait.
    public init(maximum: Int, waitingMaximum: Int = .max) {
        self.maximum = max(1, maximum)
        self.waitingMaximum = waitingMaximum
    }

    /// How many wait.
    public var waiting: Int { state.withLock { $0.waiting.count } }

    /// Whether a piece of work would begin at once.
    var isFree: Bool { state.withLock { $0.taken < maximum } }

    /// Does a piece of work when it is its turn.
    ///
    /// - Parameter asker: for whom it is: an account. Whoever asks a hundred times waits behind those who ask once.
    /// - Returns: what the work returns; nil when too many wait, and it was not done. Of those who wait, the last one makes
    ///   room for somebody whose turn would come before.
    public func take<Value: Sendable>(
        asker: String, _ work: @Sendable () async throws -> Value
    ) async rethrows -> Value? {
        guard await turn(of: asker) else { return nil }
        defer { next() }
        return try await work()
    }

    private func turn(of asker: String) async -> Bool {
        await withCheckedContinuation { continuation in
            let (isFree, refused) = state.withLock { state -> (Bool, CheckedContinuation<Bool, Never>?) in
                guard state.taken >= maximum else {
                    state.taken += 1
                    return (true, nil)
                }
                var refused: CheckedContinuation<Bool, Never>?
                if state.waiting.count >= waitingMaximum {
                    guard state.line.isBeforeLast(asker: asker), let last = state.line.last else {
                        return (false, continuation)
                    }
                    state.line.remove(last)
                    refused = state.waiting.removeValue(forKey: last)
                }
                state.lastTicket += 1
                state.line.append(state.lastTicket, asker: asker)
                state.waiting[state.lastTicket] = continuation
                return (false, refused)
            }
            if isFree { continuation.resume(returning: true) }
            refused?.resume(returning: false)
        }
    }

    /// Hands a turn to the next, or gives it back.
    private func next() {
        let continuation: CheckedContinuation<Bool, Never>? = state.withLock { state in
            guard let ticket = state.line.first else {
                state.taken -= 1
                return nil
            }
            state.line.remove(ticket)
            return state.waiting.removeValue(forKey: ticket)
        }
        continuation?.resume(returning: true)
    }
}
