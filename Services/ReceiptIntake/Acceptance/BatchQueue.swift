import Synchronization

/// A bounded queue whose takers get everything that waits, up to a batch: the more is waiting, the larger the batches.
///
/// Nobody waits to put something in: a full or closed queue says so.
final class BatchQueue<Element: Sendable>: Sendable {
    private struct State {
        var elements: [Element] = []
        var isClosed = false
        var takers: [CheckedContinuation<[Element], Never>] = []
    }

    /// The most elements that wait.
    let capacity: Int
    /// The most elements a taker gets at once.
    let batchMaximum: Int
    private let state = Mutex(State())

    /// Makes an empty queue.
    init(capacity: Int, batchMaximum: Int) {
        self.capacity = capacity
        self.batchMaximum = batchMaximum
    }

    /// How many elements wait.
    var count: Int { state.withLock { $0.elements.count } }

    /// Puts elements in, all or none; false when there is no room, or when the queue is closed.
    func append(_ elements: [Element]) -> Bool {
        guard !elements.isEmpty else { return true }
        let (isTaken, handOver) = state.withLock {
            state -> (Bool, (CheckedContinuation<[Element], Never>, [Element])?) in
            guard !state.isClosed, state.elements.count + elements.count <= capacity else { return (false, nil) }
            state.elements.append(contentsOf: elements)
            guard let taker = state.takers.popLast() else { return (true, nil) }
            return (true, (taker, takeBatch(&state)))
        }
        if let (taker, batch) = handOver { taker.resume(returning: batch) }
        return isTaken
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
        let batch = Array(state.elements.prefix(batchMaximum))
        state.elements.removeFirst(batch.count)
        return batch
    }
}
