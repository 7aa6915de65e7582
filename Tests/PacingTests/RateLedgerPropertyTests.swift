import ChanceTesting
import Testing

@testable import Pacing

/// A budget in virtual time, with a simple model beside it that checks every outcome.
private struct Simulation {
    typealias Instant = ContinuousClock.Instant

    struct Asked {
        let priority: Priority
        let deadline: Instant
    }

    let limit: RateBudget.Limit
    let start = ContinuousClock.now
    var now: Instant
    var ledger: RateLedger
    var generator: SplitMix
    var waiting: [UInt64: Asked] = [:]
    var lastTicket: UInt64 = 0
    var admitted: [Priority: Int] = [:]
    var admittedTickets: Set<UInt64> = []
    /// When refused sweeps were told to come back.
    var returns: [UInt64: Instant] = [:]
    var refused: [Priority: Int] = [:]
    /// Of when a request was admitted, first to last.
    var admissions: [Instant] = []
    var faults: [String] = []
    var share = 1.0
    var closedUntil: Instant
    /// How late timers ring at most.
    let lateness: Duration
    /// What a meter reads that leaks at the rate of the limit, and holds the burst.
    private var level = 0.0
    private var levelAt: Instant

    init(seed: UInt64, limit: RateBudget.Limit, waitersMaximum: Int = 10_000, lateness: Duration = .zero) {
        self.limit = limit
        self.lateness = lateness
        generator = SplitMix(seed: seed)
        ledger = RateLedger(limit: limit, waitersMaximum: waitersMaximum, now: start)
        (now, closedUntil, levelAt) = (start, start, start)
    }

    /// Something between nothing and `maximum`, in milliseconds.
    mutating func some(_ maximum: Duration) -> Duration {
        .milliseconds(Int.random(in: 0...max(0, Int(maximum.inSeconds * 1_000)), using: &generator))
    }

    /// - Returns: the outcome, when it was settled at once.
    @discardableResult
    mutating func request(_ priority: Priority, patience: Duration) -> RateBudget.Admission? {
        lastTicket += 1
        let ticket = lastTicket
        waiting[ticket] = Asked(priority: priority, deadline: now + patience)
        let outcomes = ledger.request(ticket, priority, patience: patience, now: now)
        check(outcomes)
        return outcomes.first { $0.ticket == ticket }?.admission
    }

    mutating func cancelSomebody() {
        guard let ticket = waiting.keys.min() else { return }
        check(ledger.cancel(ticket, now: now))
    }

    mutating func close(_ duration: Duration) {
        check(ledger.close(for: duration, now: now))
        closedUntil = max(closedUntil, now + duration)
    }

    mutating func setShare(_ newShare: Double) {
        // What came before the change is handed out by the former share, and what was kept by the new one.
        share = max(share, newShare)
        check(ledger.setShare(newShare, now: now))
        share = newShare
    }

    /// Lets time pass; the ledger is called when it asks for it, or a little later.
    mutating func pass(until end: Instant) {
        while let next = ledger.nextEvent, next <= end {
            now = min(end, max(now, next + some(lateness)))
            check(ledger.advance(to: now))
            if let following = ledger.nextEvent, following <= now {
                faults.append("nothing came of a call that was asked for")
                return
            }
        }
        now = end
    }

    private mutating func check(_ outcomes: [RateLedger.Outcome]) {
        for outcome in outcomes {
            guard let asked = waiting.removeValue(forKey: outcome.ticket) else {
                faults.append("\(outcome.ticket) was settled twice")
                continue
            }
            switch outcome.admission {
            case .admitted: checkAdmission(of: outcome.ticket, asked)
            case .refused(let retryAfter):
                refused[asked.priority, default: 0] += 1
                if asked.priority == .sweep { returns[outcome.ticket] = now + retryAfter }
                if retryAfter <= .zero { faults.append("asking again at once") }
                if now + retryAfter < closedUntil { faults.append("asking again while it is closed") }
            }
        }
        if ledger.waiting != waiting.count { faults.append("\(ledger.waiting) wait instead of \(waiting.count)") }
        if let overdue = waiting.first(where: { $0.value.deadline + lateness < now }) {
            faults.append("\(overdue.key) still waits")
        }
    }

    private mutating func checkAdmission(of ticket: UInt64, _ asked: Asked) {
        admitted[asked.priority, default: 0] += 1
        admittedTickets.insert(ticket)
        admissions.append(now)
        if now < closedUntil { faults.append("admitted while it is closed") }
        if share == 0 { faults.append("admitted without a share") }
        if asked.deadline + lateness < now { faults.append("admitted after its patience") }
        if lateness == .zero,
            waiting.contains(where: {
                $0.value.priority < asked.priority || ($0.value.priority == asked.priority && $0.key < ticket)
            })
        {
            faults.append("\(ticket) went before somebody whose turn it was")
        }
        level = max(0, level - levelAt.duration(to: now).inSeconds * limit.perSecond) + 1
        levelAt = now
        if level > max(1, limit.burst) + 0.001 { faults.append("more than the burst: \(level)") }
    }
}

/// A sweep that asks again and again.
private struct Sweep {
    var servedAt: ContinuousClock.Instant
    var ticket: UInt64 = 0
}

@Suite("The budget over hours, in virtual time")
struct RateLedgerPropertyTests {
    private static let limits: [RateBudget.Limit] = [
        .init(perSecond: 50, burst: 50), .init(perSecond: 40, burst: 100), .init(perSecond: 20, burst: 1),
        .init(perSecond: 5, burst: 5), .init(perSecond: 1.0 / 3, burst: 4), .init(perSecond: 0.1, burst: 1),
    ]

    @Test("in no hour is more admitted than the rate and one burst, and under load no less", arguments: limits)
    func hours(limit: RateBudget.Limit) {
        var simulation = Simulation(seed: 1, limit: limit)
        let step = Duration.seconds(1 / limit.perSecond)
        // Half as many again as are allowed, now and then a rest, for two hours.
        let end = simulation.start + .seconds(2 * 3_600)
        var count = 0
        while simulation.now < end {
            count += 1
            let isRest = count % 5_000 == 0
            simulation.pass(until: simulation.now + (isRest ? step * 200 : step / 1.5))
            simulation.request(.player, patience: step * 10)
        }
        #expect(simulation.faults.prefix(3).isEmpty)
        let times = simulation.admissions
        let most = limit.perSecond * 3_600 + max(1, limit.burst)
        var (first, greatest) = (0, 0)
        for (index, instant) in times.enumerated() {
            while times[first] <= instant - .seconds(3_600) { first += 1 }
            greatest = max(greatest, index - first + 1)
        }
        #expect(Double(greatest) <= most + 0.001)
        // The rests apart.
        #expect(Double(greatest) > limit.perSecond * 3_600 * 0.8)
    }

    @Test("whatever happens, everybody is settled once, in order, in time, and never too many", arguments: 1...40)
    func anything(seed: UInt64) {
        let limit = Self.limits[Int(seed) % Self.limits.count]
        var simulation = Simulation(seed: seed, limit: limit, waitersMaximum: seed % 3 == 0 ? 20 : 10_000)
        play(&simulation, 4_000)
        #expect(simulation.faults.prefix(3).isEmpty)
        #expect(simulation.waiting.isEmpty && simulation.ledger.nextEvent == nil)
        #expect(simulation.admissions.count > 100)
    }

    @Test("the same when timers ring late", arguments: 41...60)
    func lateTimers(seed: UInt64) {
        let limit = Self.limits[Int(seed) % Self.limits.count]
        var simulation = Simulation(seed: seed, limit: limit, lateness: .milliseconds(30))
        play(&simulation, 4_000)
        #expect(simulation.faults.prefix(3).isEmpty)
        #expect(simulation.waiting.isEmpty && simulation.ledger.nextEvent == nil)
        #expect(simulation.admissions.count > 100)
    }

    private func play(_ simulation: inout Simulation, _ steps: Int) {
        let step = Duration.seconds(1 / simulation.limit.perSecond)
        for _ in 0..<steps {
            simulation.pass(until: simulation.now + simulation.some(step * 1.5))
            switch Int.random(in: 0..<100, using: &simulation.generator) {
            case 0: simulation.close(simulation.some(step * 20))
            case 1: simulation.setShare([0, 0.1, 0.5, 1].randomElement(using: &simulation.generator) ?? 1)
            case 2...10: simulation.cancelSomebody()
            default:
                let priority = Priority.allCases.randomElement(using: &simulation.generator) ?? .player
                simulation.request(priority, patience: simulation.some(step * 30))
            }
        }
        simulation.setShare(1)
        simulation.pass(until: simulation.now + step * 200)
    }

    @Test("while players come below the rate, sweeps get the rest of it, and none waits for ever", arguments: 1...5)
    func sweeps(seed: UInt64) {
        var simulation = Simulation(seed: seed, limit: .init(perSecond: 50, burst: 50))
        // Four players to one token left over; thirty sweeps, each of which asks again when it is told to.
        var sweeps = [Sweep](repeating: Sweep(servedAt: simulation.start), count: 30)
        var longestWait = Duration.zero
        let end = simulation.start + .seconds(900)
        while simulation.now < end {
            let pause = Double.random(in: 0..<(2.0 / 40), using: &simulation.generator)
            simulation.pass(until: simulation.now + .seconds(pause))
            simulation.request(.player, patience: .seconds(5))
            for index in sweeps.indices where simulation.waiting[sweeps[index].ticket] == nil {
                if simulation.admittedTickets.remove(sweeps[index].ticket) != nil {
                    sweeps[index].servedAt = simulation.now
                }
                longestWait = max(longestWait, sweeps[index].servedAt.duration(to: simulation.now))
                if let instant = simulation.returns[sweeps[index].ticket], instant > simulation.now { continue }
                simulation.request(.sweep, patience: .milliseconds(500))
                sweeps[index].ticket = simulation.lastTicket
            }
        }
        #expect(simulation.faults.prefix(3).isEmpty)
        #expect(simulation.refused[.player, default: 0] == 0)
        // Ten a second are left over.
        #expect(simulation.admitted[.sweep, default: 0] > 900 * 9)
        // Thirty of them take turns of three seconds; nobody is left out for a minute.
        #expect(longestWait < .seconds(60))
    }

    @Test("what is refused under a great load comes back no faster than it can be served")
    func backlog() {
        var simulation = Simulation(seed: 1, limit: .init(perSecond: 50, burst: 50))
        // Three thousand at once; each asks again when it is told to, and some time later.
        var returns = [ContinuousClock.Instant?](repeating: simulation.start, count: 3_000)
        var asked = 0
        for _ in 0..<2_000 where returns.contains(where: { $0 != nil }) {
            for index in returns.indices {
                guard let instant = returns[index], instant <= simulation.now else { continue }
                asked += 1
                guard case .refused(let after)? = simulation.request(.deadline, patience: .seconds(5)) else {
                    returns[index] = nil
                    continue
                }
                returns[index] = simulation.now + after + simulation.some(.seconds(1))
            }
            simulation.pass(until: simulation.now + .milliseconds(100))
        }
        #expect(simulation.faults.prefix(3).isEmpty)
        #expect(simulation.admissions.count == 3_000)
        #expect(asked < 2 * 3_000 + 100)
    }
}
