import Synchronization

/// The sends that wait for their acknowledgements.
///
/// Each message has a token, which goes through librdkafka and back; no pointer of ours does.
final class DeliveryRegistry: Sendable {
    /// The acknowledgement, or failure, of one message.
    struct Outcome {
        let token: UInt
        let result: Result<KafkaDelivery, KafkaError>
    }

    typealias Results = [Result<KafkaDelivery, KafkaError>]

    /// What waits now; `since` is when something began to wait after nothing had.
    struct Waiting {
        var count = 0
        var since: ContinuousClock.Instant?
    }

    /// The most messages of one send: the low bits of a token are the place in its send.
    static let sendMessagesMaximum = 1 << indexBits
    private static let indexBits = 24

    private struct Send {
        var results: Results
        var missing: Int
        let continuation: CheckedContinuation<Results, Never>

        /// Keeps a result, and says how many are missing still; nil for a place that does not exist.
        mutating func record(_ result: Results.Element, at index: Int) -> Int? {
            guard results.indices.contains(index) else { return nil }
            results[index] = result
            missing -= 1
            return missing
        }
    }

    private struct State {
        var sends: [UInt: Send] = [:]
        var nextId: UInt = 1
        var waiting = Waiting()
    }

    private let state = Mutex(State())

    var waiting: Waiting { state.withLock { $0.waiting } }

    /// Keeps a send of `count` messages, at least one, until every one has an outcome.
    ///
    /// - Returns: the token of the first message; the next ones follow by one.
    func register(count: Int, _ continuation: CheckedContinuation<Results, Never>) -> UInt {
        let placeholder = Results.Element.failure(
            KafkaError(.abandoned, isRetriable: true, "the client ended before the message was acknowledged"))
        let send = Send(
            results: Array(repeating: placeholder, count: count), missing: count, continuation: continuation)
        return state.withLock { state in
            let id = state.nextId
            state.nextId += 1
            state.sends[id] = send
            if state.waiting.count == 0 { state.waiting.since = .now }
            state.waiting.count += count
            return id << Self.indexBits
        }
    }

    /// Records outcomes, and lets go the sends that have all of theirs.
    ///
    /// A token that nobody waits for is ignored.
    func complete(_ outcomes: [Outcome]) {
        let finished = state.withLock { state -> [Send] in
            var finished: [Send] = []
            for outcome in outcomes {
                let id = outcome.token >> Self.indexBits
                let index = Int(outcome.token & UInt(Self.sendMessagesMaximum - 1))
                guard let missing = state.sends[id]?.record(outcome.result, at: index) else { continue }
                state.waiting.count -= 1
                if missing == 0, let send = state.sends.removeValue(forKey: id) { finished.append(send) }
            }
            if state.waiting.count == 0 { state.waiting.since = nil }
            return finished
        }
        for send in finished { send.continuation.resume(returning: send.results) }
    }

    /// Lets everybody go whose outcome will not come any more.
    func abandonAll() {
        let sends = state.withLock { state -> [Send] in
            defer {
                state.sends = [:]
                state.waiting = Waiting()
            }
            return Array(state.sends.values)
        }
        for send in sends { send.continuation.resume(returning: send.results) }
    }
}
