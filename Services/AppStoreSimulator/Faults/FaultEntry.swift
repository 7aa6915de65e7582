/// A rule in force: its random numbers, and what it did so far.
struct FaultEntry: Sendable {
    let rule: CheckedFaultRule
    /// The real instant at which it is over; milliseconds since 1970.
    let end: Int64?
    var generator: SeededGenerator
    /// How many requests it was for while it was in force.
    private(set) var matched = 0
    /// How often it acted.
    private(set) var acted = 0
    /// When the storm that it began is over.
    private var stormEnd: Int64?

    init(rule: CheckedFaultRule, end: Int64?, generator: SeededGenerator) {
        self.rule = rule
        self.end = end
        self.generator = generator
    }

    /// Whether it is used up or past its time.
    func isOver(at now: Int64) -> Bool {
        if let end, now >= end { return true }
        if let stormEnd, now >= stormEnd { return true }
        if let count = rule.rule.count { return acted >= count }
        return false
    }

    /// Counts a request that it is for; what happens to it, or nil.
    mutating func act(at now: Int64) -> FaultAction? {
        guard !isOver(at: now) else { return nil }
        matched += 1
        let isHit = generator.isOne(of: rule.share)
        switch rule.action {
        case .unauthorizedStorm(let milliseconds):
            // Once it has begun, it is for everybody.
            guard isHit || stormEnd != nil else { return nil }
            if stormEnd == nil { stormEnd = now + milliseconds }
            acted += 1
            return .answer(.unauthorized)
        default:
            guard isHit else { return nil }
            acted += 1
            return rule.action
        }
    }
}
