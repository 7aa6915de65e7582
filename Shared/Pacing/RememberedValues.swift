/// Values that are kept for a while, and no more than so many: beyond that, the one nobody asked for longest goes.
struct RememberedValues<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    typealias Instant = ContinuousClock.Instant

    private let capacity: Int
    private let lifetime: Duration
    private var values: [Key: Value] = [:]
    private var ends = DeadlineHeap<Key>()
    private var uses = LinkedLine<Key>()

    init(capacity: Int, lifetime: Duration) {
        self.capacity = capacity
        self.lifetime = lifetime
    }

    /// How many are kept, with those whose time has passed since anybody looked.
    var count: Int {
        values.count
    }

    /// The value of `key`, if it is kept.
    mutating func value(of key: Key, now: Instant) -> Value? {
        forgetOld(now)
        guard let value = values[key] else { return nil }
        uses.append(key)
        return value
    }

    /// Keeps a value; one of the same key is replaced.
    mutating func insert(_ value: Value, of key: Key, now: Instant) {
        forgetOld(now)
        guard capacity > 0, lifetime > .zero else { return }
        if values[key] == nil, values.count >= capacity, let longestUnused = uses.first { forget(longestUnused) }
        values[key] = value
        ends.insert(key, deadline: now + lifetime)
        uses.append(key)
    }

    private mutating func forgetOld(_ now: Instant) {
        while let key = ends.removeFirst(upTo: now) { forget(key) }
    }

    private mutating func forget(_ key: Key) {
        values[key] = nil
        ends.remove(key)
        uses.remove(key)
    }
}
