/// Who is due when; the first one is found at once, and everybody can be taken out again.
///
/// A binary heap that knows where everybody is: putting in and taking out cost the logarithm of the count.
struct DeadlineHeap<ID: Hashable & Sendable>: Sendable {
    private struct Entry: Sendable {
        let deadline: ContinuousClock.Instant
        let id: ID
    }

    private var entries: [Entry] = []
    private var positions: [ID: Int] = [:]

    /// How many are in it.
    var count: Int {
        entries.count
    }

    /// The first deadline.
    var earliest: ContinuousClock.Instant? {
        entries.first?.deadline
    }

    /// Puts `id` in; if it is in already, its deadline changes.
    mutating func insert(_ id: ID, deadline: ContinuousClock.Instant) {
        remove(id)
        entries.append(Entry(deadline: deadline, id: id))
        positions[id] = entries.count - 1
        moveUp(from: entries.count - 1)
    }

    /// Takes `id` out, if it is in.
    mutating func remove(_ id: ID) {
        guard let position = positions.removeValue(forKey: id) else { return }
        let last = entries.removeLast()
        guard position < entries.count else { return }
        entries[position] = last
        positions[last.id] = position
        moveUp(from: position)
        moveDown(from: position)
    }

    /// Takes out one whose deadline is at or before `instant`, the earliest first.
    mutating func removeFirst(upTo instant: ContinuousClock.Instant) -> ID? {
        guard let first = entries.first, first.deadline <= instant else { return nil }
        remove(first.id)
        return first.id
    }

    private mutating func moveUp(from start: Int) {
        var position = start
        while position > 0 {
            let parent = (position - 1) / 2
            guard entries[position].deadline < entries[parent].deadline else { return }
            exchange(position, parent)
            position = parent
        }
    }

    private mutating func moveDown(from start: Int) {
        var position = start
        while true {
            var earliest = position
            for child in [2 * position + 1, 2 * position + 2]
            where child < entries.count && entries[child].deadline < entries[earliest].deadline {
                earliest = child
            }
            if earliest == position { return }
            exchange(position, earliest)
            position = earliest
        }
    }

    private mutating func exchange(_ first: Int, _ second: Int) {
        entries.swapAt(first, second)
        positions[entries[first].id] = first
        positions[entries[second].id] = second
    }
}
