import Foundation
import HTTPTypes
import Synchronization

/// The rules of misbehaviour that are in force, and how often each acted.
///
/// Kept in memory only, and by real time: a fault is something of the moment, so a restarted simulator behaves.
final class FaultBook: Sendable {
    /// What the book holds; the body of `GET faults`.
    struct Report: Encodable, Sendable {
        struct Rule: Encodable, Sendable {
            let rule: FaultRule
            /// How many requests it was for while it was in force.
            let matched: Int
            /// How often it acted.
            let acted: Int
            /// Whether it is used up or past its time.
            let isOver: Bool

            private enum CodingKeys: CodingKey { case matched, acted, isOver }

            func encode(to encoder: any Encoder) throws {
                try rule.encode(to: encoder)
                var container = encoder.container(keyedBy: CodingKeys.self)
                try container.encode(matched, forKey: .matched)
                try container.encode(acted, forKey: .acted)
                try container.encode(isOver, forKey: .isOver)
            }
        }

        struct Counts: Encodable, Sendable {
            var repeated = 0
            var shuffledBatches = 0
            var lost = 0
        }

        let rules: [Rule]
        let notifications: NotificationFaults
        let notificationCounts: Counts
    }

    /// What is to happen to one request.
    struct Verdict: Sendable {
        /// Milliseconds to wait first.
        var delay: Int64 = 0
        /// What happens then; nil for the right answer.
        var action: FaultAction?
    }

    private struct State {
        var entries: [FaultEntry] = []
        var notifications = NotificationFaults()
        var notificationGenerator = SeededGenerator(seed: 0)
        var counts = Report.Counts()

        mutating func set(_ faults: NotificationFaults) {
            notifications = faults
            notificationGenerator = SeededGenerator(faults.seed)
        }
    }

    private let state = Mutex(State())
    private let realNow: @Sendable () -> Int64

    /// - Parameter realNow: our own time in milliseconds since 1970, not the store's.
    init(realNow: @escaping @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1_000) }) {
        self.realNow = realNow
    }

    /// Our own time; milliseconds since 1970.
    var now: Int64 { realNow() }

    var report: Report {
        let now = realNow()
        return state.withLock { state in
            Report(
                rules: state.entries.map { entry in
                    Report.Rule(
                        rule: entry.rule.rule, matched: entry.matched, acted: entry.acted,
                        isOver: entry.isOver(at: now))
                },
                notifications: state.notifications, notificationCounts: state.counts)
        }
    }

    /// Puts these rules in the place of all that there are; what counts, counts from zero.
    ///
    /// - Throws: a ``Problem`` for a rule that makes no sense; then everything stays as it is.
    func replace(rules: [FaultRule], notifications: NotificationFaults) throws(Problem) {
        try notifications.check(named: "notifications")
        let entries = try makeEntries(rules)
        guard entries.count <= FaultRule.Limit.rules else { throw Self.tooMany }
        state.withLock { state in
            state = State()
            state.entries = entries
            state.set(notifications)
        }
    }

    /// Adds rules behind those that there are, and replaces how notifications go astray if that is given.
    func add(rules: [FaultRule], notifications: NotificationFaults?) throws(Problem) {
        try notifications?.check(named: "notifications")
        let entries = try makeEntries(rules)
        let fits = state.withLock { state in
            guard state.entries.count + entries.count <= FaultRule.Limit.rules else { return false }
            state.entries += entries
            if let notifications { state.set(notifications) }
            return true
        }
        if !fits { throw Self.tooMany }
    }

    /// Lets everything behave again.
    func clear() {
        state.withLock { $0 = State() }
    }

    /// What happens to a request.
    ///
    /// The rules are tried in order: waiting times add up, the first other fault decides.
    func verdict(environment: StoreEnvironment, method: String, path: String) -> Verdict {
        let now = realNow()
        return state.withLock { state in
            var verdict = Verdict()
            for index in state.entries.indices {
                guard state.entries[index].rule.matches(environment: environment, method: method, path: path),
                    let action = state.entries[index].act(at: now)
                else { continue }
                if case .latency(let latency) = action {
                    let delay = latency.next(using: &state.entries[index].generator)
                    verdict.delay = min(verdict.delay + delay, FaultRule.Limit.latency)
                } else {
                    verdict.action = action
                    break
                }
            }
            return verdict
        }
    }

    // MARK: Notifications

    /// The notifications that are to be sent for a batch, in the order to send them; some perhaps twice.
    func plan(for batch: [NotificationRecord]) -> [NotificationRecord] {
        state.withLock { state in
            let (sent, repeats) = state.notifications.plan(for: batch, using: &state.notificationGenerator)
            state.counts.repeated += repeats
            if state.notifications.outOfOrder == true, batch.count > 1 { state.counts.shuffledBatches += 1 }
            return sent
        }
    }

    /// Whether the next attempt is lost: it is not sent, and recorded as `NO_RESPONSE`; asked once for each attempt.
    func losesNotification() -> Bool {
        state.withLock { state in
            guard let share = state.notifications.dropShare, state.notificationGenerator.isOne(of: share) else {
                return false
            }
            state.counts.lost += 1
            return true
        }
    }

    /// How long each attempt is held back, in real time; zero when it is not.
    var notificationDelay: Duration {
        .milliseconds(state.withLock { $0.notifications.delayMs ?? 0 })
    }

    private static let tooMany = Problem(.badRequest, "rules: at most \(FaultRule.Limit.rules)")

    private func makeEntries(_ rules: [FaultRule]) throws(Problem) -> [FaultEntry] {
        let now = realNow()
        var entries: [FaultEntry] = []
        for (index, rule) in rules.enumerated() {
            let checked = try rule.checked(named: "rules[\(index)]")
            entries.append(
                FaultEntry(
                    rule: checked, end: rule.until.map { now + Int64($0 * 1_000) },
                    generator: SeededGenerator(rule.seed)))
        }
        return entries
    }
}
