import Synchronization

/// One budget for each key: an app, an environment, a class of calls.
///
/// Ask for the budget at every use and do not keep it: one that rests may be forgotten when there are too many.
public final class RateBudgets<Key: Hashable & Sendable>: Sendable {
    private struct Entry: Sendable {
        let budget: RateBudget
        var lastUse: UInt64
    }

    private struct State: Sendable {
        var entries: [Key: Entry] = [:]
        var share = 1.0
        var uses: UInt64 = 0
    }

    private let budgetsMaximum: Int
    private let limit: @Sendable (Key) -> RateBudget.Limit
    private let time: TimeSource
    private let state = Mutex(State())
    /// Admits nothing: for keys beyond the maximum while nothing can be forgotten.
    private let surplus: RateBudget

    /// Budgets that are made when they are first asked for.
    ///
    /// - Parameters:
    ///   - budgetsMaximum: beyond it, the budget that was not used for longest is forgotten, if it rests: full, open, and
    ///     nobody waiting. If none rests, requests for further keys are refused, since Apple would be asked too often
    ///     otherwise.
    ///   - limit: what is allowed to a key; asked once for each budget, under a lock.
    public convenience init(budgetsMaximum: Int = 1_000, limit: @escaping @Sendable (Key) -> RateBudget.Limit) {
        self.init(budgetsMaximum: budgetsMaximum, time: .continuous, limit: limit)
    }

    init(budgetsMaximum: Int, time: TimeSource, limit: @escaping @Sendable (Key) -> RateBudget.Limit) {
        self.budgetsMaximum = max(1, budgetsMaximum)
        self.limit = limit
        self.time = time
        surplus = RateBudget(limit: .init(perSecond: 0, burst: 0), waitersMaximum: 0, share: 0, time: time)
    }

    /// How many budgets are kept.
    public var count: Int {
        state.withLock { $0.entries.count }
    }

    /// Every budget at this moment, for metrics.
    public var statistics: [Key: RateBudget.Statistics] {
        // Outside the lock: a budget asks its own.
        state.withLock { $0.entries }.mapValues(\.budget.statistics)
    }

    /// The budget of `key`.
    public func budget(for key: Key) -> RateBudget {
        state.withLock { state in
            state.uses += 1
            if let index = state.entries.index(forKey: key) {
                state.entries.values[index].lastUse = state.uses
                return state.entries.values[index].budget
            }
            if state.entries.count >= budgetsMaximum {
                guard let resting = longestResting(state.entries) else { return surplus }
                state.entries[resting] = nil
            }
            let budget = RateBudget(limit: limit(key), share: state.share, time: time)
            state.entries[key] = Entry(budget: budget, lastUse: state.uses)
            return budget
        }
    }

    /// Says which part of every limit is ours from now on, 0...1; budgets made later start with it.
    public func setShare(_ share: Double) {
        // Under the lock, so that of two changes the later one holds for all budgets.
        state.withLock { state in
            state.share = share
            for entry in state.entries.values { entry.budget.setShare(share) }
        }
    }

    /// Of the budgets that are no different from new ones, the one that was not used for longest.
    private func longestResting(_ entries: [Key: Entry]) -> Key? {
        entries.filter { $0.value.budget.isResting }.min { $0.value.lastUse < $1.value.lastUse }?.key
    }
}
