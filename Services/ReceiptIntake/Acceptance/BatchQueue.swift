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
        /// The part of a batch that one owner's elements have while others wait for it: half, a third, and so on.
        var partOfOne = 1
        /// Whether elements that come close together are waited for.
        var gathering: Gathering?
    }

    /// A batch waits for company, while there is some: what is sent together stays together all the way, and each further step
    /// is one instead of many.
    ///
    /// What comes alone after a pause is taken at once; if the batch before had several elements, after a gap.
    struct Gathering: Sendable {
        /// The least time from one batch to the next.
        var pace: Duration
        /// After that, and after a batch of several, nothing must have come for so long.
        var gap: Duration
        /// The longest wait for such a gap.
        var longest: Duration
    }

    private struct State {
        var elements: [Element] = []
        var bytes = 0
        var isClosed = false
        /// Those who wait for a batch; each gets one, or nil, and then is to gather it.
        var takers: [CheckedContinuation<[Element]?, Never>] = []
        /// Whether somebody waits for company; what comes is theirs.
        var isGathering = false
        /// When the last batch was taken, and how many elements it had.
        var last: (time: ContinuousClock.Instant, count: Int)?
    }

    /// What it holds at most.
    let limits: Limits
    private let size: @Sendable (Element) -> Int
    private let owner: (@Sendable (Element) -> String)?
    private let state = Mutex(State())

    /// Makes an empty queue.
    ///
    /// - Parameters:
    ///   - size: how many bytes an element counts for; always the same for the same element.
    ///   - owner: whose an element is, of whom none has more than a part of a batch while others wait; nil where elements are
    ///     taken as they came.
    init(
        limits: Limits, size: @escaping @Sendable (Element) -> Int, owner: (@Sendable (Element) -> String)? = nil
    ) {
        self.limits = limits
        self.size = size
        self.owner = owner
    }

    /// How many elements wait.
    var count: Int { state.withLock { $0.elements.count } }

    /// How many takers wait.
    var takersCount: Int { state.withLock { $0.takers.count } }

    /// Puts in what there is room for, in its order; a closed queue has none.
    ///
    /// - Returns: how many were put in.
    func append(_ elements: [Element]) -> Int {
        let sizes = elements.map(size)
        let (count, handOvers) = state.withLock { state -> (Int, [HandOver]) in
            let before = state.elements.count
            if !state.isClosed {
                for (element, size) in zip(elements, sizes)
                where state.elements.count < limits.elements && state.bytes + size <= limits.bytes {
                    state.elements.append(element)
                    state.bytes += size
                }
            }
            let count = state.elements.count - before
            let isGathered = gathers(state, count)
            if isGathered, !state.isGathering, let taker = state.takers.popLast() {
                state.isGathering = true
                return (count, [(taker, nil)])
            }
            return (count, isGathered ? [] : handOver(&state))
        }
        for one in handOvers { one.taker.resume(returning: one.batch) }
        return count
    }

    /// The next batch, as soon as there is one; empty once the queue is closed and everything is taken.
    func next() async -> [Element] {
        if let batch = await take() { return batch }
        await gather()
        let (batch, handOvers) = state.withLock { state in
            state.isGathering = false
            return (takeBatch(&state), handOver(&state))
        }
        for one in handOvers { one.taker.resume(returning: one.batch) }
        return batch
    }

    /// A batch; nil for who is to gather it.
    private func take() async -> [Element]? {
        await withCheckedContinuation { continuation in
            let batch: [Element]? = state.withLock { state in
                if state.elements.isEmpty || state.isGathering, !state.isClosed {
                    state.takers.append(continuation)
                    return nil
                }
                return takeBatch(&state)
            }
            if let batch { continuation.resume(returning: batch) }
        }
    }

    /// Waits until the next batch is due, and then until nothing comes any more, or a batch is full.
    private func gather() async {
        guard let gathering = limits.gathering else { return }
        if let last = state.withLock({ $0.last }) {
            // Who is cancelled takes what there is.
            guard (try? await Task.sleep(until: last.time + gathering.pace)) != nil else { return }
        }
        let end = ContinuousClock.now + gathering.longest
        var before = count
        repeat {
            guard (try? await Task.sleep(for: gathering.gap)) != nil else { return }
            let (now, isFull) = state.withLock { ($0.elements.count, self.isFull($0)) }
            guard now > before, !isFull else { return }
            before = now
        } while ContinuousClock.now < end
    }

    /// Whether company is waited for with what came.
    private func gathers(_ state: State, _ count: Int) -> Bool {
        guard let gathering = limits.gathering else { return false }
        // Also what found no room leaves to the gatherer what is theirs: an empty batch says that the queue is closed.
        if state.isGathering { return true }
        guard let last = state.last, count > 0, !isFull(state) else { return false }
        return last.count > 1 || .now < last.time + gathering.pace
    }

    private func isFull(_ state: State) -> Bool {
        state.elements.count >= limits.batchElements || state.bytes >= limits.batchBytes
    }

    private typealias HandOver = (taker: CheckedContinuation<[Element]?, Never>, batch: [Element]?)

    /// Gives what waits to those who wait.
    private func handOver(_ state: inout State) -> [HandOver] {
        var handOvers: [HandOver] = []
        while !state.elements.isEmpty, let taker = state.takers.popLast() {
            handOvers.append((taker, takeBatch(&state)))
        }
        return handOvers
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
        let isMore = state.elements.count > limits.batchElements || state.bytes > limits.batchBytes
        let batch = if isMore, let owner { takeFairly(&state, owner) } else { takeFirst(&state) }
        state.last = (.now, batch.count)
        return batch
    }

    private func takeFirst(_ state: inout State) -> [Element] {
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

    /// A batch of which no owner has more than its part, unless nobody else needs the rest; what stays keeps its place.
    private func takeFairly(_ state: inout State, _ owner: @Sendable (Element) -> String) -> [Element] {
        var batch: [Element] = []
        var bytes = 0
        var taken = [Bool](repeating: false, count: state.elements.count)
        var shares: [String: (elements: Int, bytes: Int)] = [:]
        for isShared in [true, false] {
            for (index, element) in state.elements.enumerated() where !taken[index] {
                guard batch.count < limits.batchElements else { break }
                let more = size(element)
                guard batch.isEmpty || bytes + more <= limits.batchBytes else { continue }
                if isShared, !addsToShare(more, &shares[owner(element), default: (0, 0)]) { continue }
                taken[index] = true
                batch.append(element)
                bytes += more
            }
        }
        var index = 0
        state.elements.removeAll { _ in
            defer { index += 1 }
            return taken[index]
        }
        state.bytes -= bytes
        return batch
    }

    /// Adds an element to what one owner has of a batch, unless the owner has its part; the first is always let in.
    private func addsToShare(_ more: Int, _ share: inout (elements: Int, bytes: Int)) -> Bool {
        let part = max(1, limits.partOfOne)
        let isWithin =
            share.elements < max(1, limits.batchElements / part) && share.bytes + more <= limits.batchBytes / part
        guard share.elements == 0 || isWithin else { return false }
        share.elements += 1
        share.bytes += more
        return true
    }
}
