import Synchronization

/// Requests that are kept waiting because their sender asks too often.
///
/// Whoever waits for an answer before the next request is slowed down by it, at no cost of the processor. So many are held at a
/// time, of all and of one sender, since each keeps a connection.
final class HeldRequests: Sendable {
    enum Limit {
        /// The most of all, as this part of the connections.
        static let partOfConnections = 8
        /// The most of one sender.
        static let ofOne = 64
    }

    private struct State {
        var count = 0
        var bySender: [String: Int] = [:]
    }

    private let maximum: Int
    private let ofOneMaximum: Int
    private let state = Mutex(State())

    /// - Parameter maximum: of all senders together.
    init(maximum: Int, ofOneMaximum: Int = Limit.ofOne) {
        self.maximum = maximum
        self.ofOneMaximum = ofOneMaximum
    }

    /// How many are held.
    var count: Int { state.withLock { $0.count } }

    /// Holds a request.
    ///
    /// - Returns: false, at once, when too many are held.
    @inline(never)
    func hold(_ sender: String, for time: Duration) async -> Bool {
        guard enter(sender) else { return false }
        // Its task ends early when the process stops; the request is then answered at once.
        try? await Task.sleep(for: time)
        leave(sender)
        return true
    }

    private func enter(_ sender: String) -> Bool {
        state.withLock { state in
            let own = state.bySender[sender, default: 0]
            guard state.count < maximum, own < ofOneMaximum else { return false }
            state.count += 1
            state.bySender[sender] = own + 1
            return true
        }
    }

    private func leave(_ sender: String) {
        state.withLock { state in
            state.count -= 1
            let own = state.bySender[sender, default: 1] - 1
            state.bySender[sender] = own > 0 ? own : nil
        }
    }
}
