import Synchronization

/// Keeps what was looked up lately, and never more than so many entries.
///
/// Two generations: when the young one is full it becomes the old one, whose entries go unless they are asked for again.
/// So no order has to be kept, and a look-up is a short time under the lock.
final class BoundedCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private struct Generations {
        var young: [Key: Value] = [:]
        var old: [Key: Value] = [:]
    }

    private let generations = Mutex(Generations())
    private let generationSize: Int

    /// - Parameter capacity: entries, both generations together.
    init(capacity: Int) {
        generationSize = max(1, capacity / 2)
    }

    subscript(key: Key) -> Value? {
        generations.withLock { generations in
            if let value = generations.young[key] { return value }
            guard let value = generations.old[key] else { return nil }
            Self.put(value, for: key, in: &generations, size: generationSize)
            return value
        }
    }

    func put(_ value: Value, for key: Key) {
        generations.withLock { Self.put(value, for: key, in: &$0, size: generationSize) }
    }

    private static func put(_ value: Value, for key: Key, in generations: inout Generations, size: Int) {
        if generations.young.count >= size {
            generations.old = generations.young
            generations.young = [:]
        }
        generations.young[key] = value
    }
}
