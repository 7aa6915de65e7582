import Synchronization

/// A bounded queue whose takers get everything that waits, up to a batch: the more is waiting, the larger the batches.
///
/// It is bounded in elements and in bytes. Nobody waits to put something in: a full or closed queue says so.
final class BatchQueue<Element: Sendable>: Sendable {
    /// What a queue, and what one batch of it, may hold.
    struct Limits: Sendable {
        /// Elements that wait.
        var elements: Int
        /// Bytes that wait.
        var bytes: Int
        /// Elements of a batch.
        var batchElements: Int
        /// Bytes of a batch; an element that is larger by itself is a batch of its own.
        var batchBytes: Int
    }

    private struct State {
        var elements: [Element] = []
        var bytes = 0
        var isClosed = false
        var takers: [CheckedContinuation<[Element], Never>] = []
    }

    /// What it holds at most.
    let limits: Limits
    private let size: @Sendable (Element) -> Int
    private let state = Mutex(State())

    /// Makes an empty queue.
    ///
    /// - Parameter size: how many bytes an element counts for; always the same for the same element.
    init(limits: Limits, size: @escaping @Sendable (Element) -> Int) {
        self.limits = limits
        self.size = size
    }

    /// How many elements wait.
    var count: Int { state.withLock { $0.elements.count } }

    /// How many takers wait.
    var takersCount: Int { state.withLock { $0.takers.count } }

    /// Puts elements in, all or none; false when there is no room, or when the queue is closed.
    func append(_ elements: [Element]) -> Bool {
        guard !elements.isEmpty else { return true }
        let bytes = elements.reduce(0) { $0 + size($1) }
        let handOvers: [(CheckedContinuation<[Element], Never>, [Element])]? = state.withLock { state in
            guard !state.isClosed, state.elements.count + elements.count <= limits.elements,
                state.bytes + bytes <= limits.bytes
            else { return nil }
            state.elements.append(contentsOf: elements)
            state.bytes += bytes
            var handOvers: [(CheckedContinuation<[Element], Never>, [Element])] = []
            while !state.elements.isEmpty, let taker = state.takers.popLast() {
                handOvers.append((taker, takeBatch(&state)))
            }
            return handOvers
        }
        for (taker, batch) in handOvers ?? [] { taker.resume(returning: batch) }
        return handOvers != nil
    }

    /// The next batch, as soon as there is one; empty once the queue is closed and everything is taken.
    func next() async -> [Element] {
        await withCheckedContinuation { continuation in
            let batch: [Element]? = state.withLock { state in
                if state.elements.isEmpty, !state.isClosed {
                    state.takers.append(continuation)
                    return nil
                }
                return takeBatch(&state)
            }
            if let batch { continuation.resume(returning: batch) }
        }
    }

    /// Takes nothing more in; what waits is still handed out.
    func close() {
        let takers = state.withLock { state in
            state.isClosed = true
            defer { state.takers = [] }
            return state.takers
        }
        for taker in takers { taker.resume(returning: []) }
    }

    private func takeBatch(_ state: inout State) -> [Element] {
        var bytes = 0
        var count = 0
        for element in state.elements.prefix(limits.batchElements) {
            let more = size(element)
            guard count == 0 || bytes + more <= limits.batchBytes else { break }
            bytes += more
            count += 1
        }
        let batch = Array(state.elements.prefix(count))
        state.elements.removeFirst(count)
        state.bytes -= bytes
        return batch
    }
}
