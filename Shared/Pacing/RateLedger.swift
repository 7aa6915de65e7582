/// Who waits for a token of one budget, and who gets the next.
///
/// All decisions of a ``RateBudget`` as a value without a clock and without waiting: what happens goes in with the time it
/// happens, and what becomes of whom comes out. Every call costs at most the logarithm of the number of waiters, for each
/// waiter whose fate it settles.
struct RateLedger: Sendable {
    typealias Instant = ContinuousClock.Instant
    /// Names one request; never used twice.
    typealias Ticket = UInt64

    enum Limit {
        /// Waiters of one budget, if the caller does not say: at fifty a second they are over three minutes.
        static let waitersUsual = 10_000
        /// Waiters of one budget, whatever the caller asks for.
        static let waitersMaximum = 1_000_000
        /// Nobody waits longer than a day.
        static let patienceMaximum = Duration.seconds(24 * 3600)
        /// "At once" would only bring the request back into the same crowd.
        static let retryAfterMinimum = Duration.milliseconds(1)
        /// When to ask again while this process has no share of the limit: about as long as a rebalance takes.
        static let retryAfterWithoutShare = Duration.seconds(5)
        /// How far behind the next free turn refused requests are spread; beyond it their jitter must do.
        static let appointmentsMaximum = Duration.seconds(300)
        /// Askers of whom it is remembered when they were told to come back.
        static let askersMaximum = 10_000
    }

    /// What became of one request.
    struct Outcome: Sendable, Hashable {
        let ticket: Ticket
        let admission: RateBudget.Admission
    }

    private struct Waiter: Sendable {
        let priority: Priority
        let asker: String
        let deadline: Instant
    }

    private var bucket: TokenBucket
    private let waitersMaximum: Int
    private var waiters: [Ticket: Waiter] = [:]
    private var lines = [FairLine<Ticket>](repeating: FairLine(), count: Priority.allCases.count)
    private var deadlines = DeadlineHeap<Ticket>()
    /// For each priority, the time that was named last to a refused request.
    private var appointments = [Appointments](repeating: Appointments(), count: Priority.allCases.count)

    init(limit: RateBudget.Limit, waitersMaximum: Int, share: Double = 1, now: Instant) {
        bucket = TokenBucket(limit: limit, share: share, now: now)
        self.waitersMaximum = min(max(0, waitersMaximum), Limit.waitersMaximum)
    }

    // MARK: What there is

    /// How many wait.
    var waiting: Int {
        waiters.count
    }

    /// How many wait with one priority.
    func waiting(_ priority: Priority) -> Int {
        lines[priority.rawValue].count
    }

    /// Until when a 429 closed the budget.
    func closedUntil(_ now: Instant) -> Instant? {
        bucket.closedUntil(now)
    }

    /// The tokens there are.
    func tokens(_ now: Instant) -> Double {
        bucket.count(now)
    }

    /// Whether a new ledger in the place of this one would admit no more than this one, and nobody waits.
    func isResting(_ now: Instant) -> Bool {
        waiters.isEmpty && bucket.isResting(now)
    }

    /// When something will be settled that waits now; nil when nobody waits.
    var nextEvent: Instant? {
        guard let deadline = deadlines.earliest else { return nil }
        return bucket.turn(1).map { min($0, deadline) } ?? deadline
    }

    // MARK: What happens

    /// Somebody asks for a token.
    ///
    /// The outcomes name `ticket` when that is settled at once; else it waits.
    ///
    /// - Parameter asker: for whom it is; everybody gets as much as the others of the same priority.
    mutating func request(
        _ ticket: Ticket, _ priority: Priority, asker: String = "", patience: Duration, now: Instant
    ) -> [Outcome] {
        var outcomes = advance(to: now)
        let deadline = now + patience.bounded(by: Limit.patienceMaximum)
        let waiter = Waiter(priority: priority, asker: asker, deadline: deadline)
        guard let turn = nextTurn(priority, asker: asker, now) else {
            return outcomes + [refusal(ticket, waiter, now)]
        }
        if turn <= now {
            bucket.take(now)
            return outcomes + [Outcome(ticket: ticket, admission: .admitted)]
        }
        if turn > deadline { return outcomes + [refusal(ticket, waiter, now)] }
        if waiters.count >= waitersMaximum {
            guard let (displaced, other) = lastWaiter(after: waiter) else {
                return outcomes + [refusal(ticket, waiter, now)]
            }
            leave(displaced)
            outcomes.append(refusal(displaced, other, now))
        }
        waiters[ticket] = waiter
        lines[priority.rawValue].append(ticket, asker: asker)
        deadlines.insert(ticket, deadline: deadline)
        return outcomes
    }

    /// Time passed: who is first gets the tokens that came, and whose patience has ended is refused.
    mutating func advance(to now: Instant) -> [Outcome] {
        var outcomes: [Outcome] = []
        let before = bucket
        bucket.refill(now)
        var position = 1
        while bucket.isReady(now), let (ticket, waiter) = firstWaiter() {
            // Whoever comes late to hand the tokens out does not make a waiter late whose token was there in time.
            let isInTime = before.turn(position).map { $0 <= waiter.deadline } ?? false
            leave(ticket)
            if isInTime {
                bucket.take(now)
                position += 1
                outcomes.append(Outcome(ticket: ticket, admission: .admitted))
            } else {
                outcomes.append(refusal(ticket, waiter, now))
            }
        }
        return outcomes + refuse(upTo: now, now)
    }

    /// A waiter goes away, if it still waits.
    mutating func cancel(_ ticket: Ticket, now: Instant) -> [Outcome] {
        var outcomes: [Outcome] = []
        if let waiter = waiters[ticket] {
            leave(ticket)
            outcomes.append(
                Outcome(
                    ticket: ticket,
                    admission: .refused(retryAfter: timeToTurn(waiter.priority, asker: waiter.asker, now: now))))
        }
        return outcomes + advance(to: now)
    }

    /// A token was handed out and not used.
    mutating func giveBack(_ now: Instant) -> [Outcome] {
        bucket.giveBack(now)
        return advance(to: now)
    }

    /// Nothing is admitted for `duration`; waiters whose patience ends before that are refused at once.
    mutating func close(for duration: Duration, now: Instant) -> [Outcome] {
        let outcomes = advance(to: now)
        bucket.close(for: duration, now: now)
        guard let end = bucket.closedUntil(now) else { return outcomes }
        return outcomes + refuse(upTo: end - .nanoseconds(1), now)
    }

    /// Our part of the limit changes.
    ///
    /// Waiters stay: they get their turn, or come to the end of their patience.
    mutating func setShare(_ share: Double, now: Instant) -> [Outcome] {
        let outcomes = advance(to: now)
        bucket.setShare(share, now: now)
        return outcomes + advance(to: now)
    }

    // MARK: The lines

    private func firstWaiter() -> (Ticket, Waiter)? {
        for line in lines {
            if let ticket = line.first, let waiter = waiters[ticket] { return (ticket, waiter) }
        }
        return nil
    }

    /// The last of those whom a request may displace: of a lower priority, or of its own after it.
    private func lastWaiter(after newcomer: Waiter) -> (Ticket, Waiter)? {
        for lower in Priority.allCases.reversed() where newcomer.priority <= lower {
            let line = lines[lower.rawValue]
            guard let ticket = line.last, let waiter = waiters[ticket] else { continue }
            if newcomer.priority < lower || line.isBeforeLast(asker: newcomer.asker) { return (ticket, waiter) }
        }
        return nil
    }

    private mutating func leave(_ ticket: Ticket) {
        guard let waiter = waiters.removeValue(forKey: ticket) else { return }
        lines[waiter.priority.rawValue].remove(ticket)
        deadlines.remove(ticket)
    }

    /// When a request would have its turn that joined now: after higher priorities, and those of its own before it.
    ///
    /// - Returns: nil when no tokens come.
    private func nextTurn(_ priority: Priority, asker: String, _ now: Instant) -> Instant? {
        let higher = lines[..<priority.rawValue].reduce(0) { $0 + $1.count }
        return bucket.turn(higher + lines[priority.rawValue].countBefore(asker: asker) + 1).map { max($0, now) }
    }

    // MARK: Refusals

    private mutating func refuse(upTo instant: Instant, _ now: Instant) -> [Outcome] {
        var outcomes: [Outcome] = []
        while let ticket = deadlines.removeFirst(upTo: instant) {
            guard let waiter = waiters[ticket] else { continue }
            leave(ticket)
            outcomes.append(refusal(ticket, waiter, now))
        }
        return outcomes
    }

    /// Refuses with an appointment.
    ///
    /// Appointments of one priority are as far apart as tokens: a thousand refused requests do not all come back when the
    /// first of them could have been served.
    private mutating func refusal(_ ticket: Ticket, _ waiter: Waiter, _ now: Instant) -> Outcome {
        var retryAfter = timeToTurn(waiter.priority, asker: waiter.asker, now: now)
        if let interval = bucket.interval {
            let appointment = appointments[waiter.priority.rawValue].next(
                asker: waiter.asker, turn: now + retryAfter, interval: interval, now: now)
            retryAfter = now.duration(to: appointment)
        }
        return Outcome(ticket: ticket, admission: .refused(retryAfter: retryAfter))
    }

    /// How long until a request would have its turn that joined now.
    func timeToTurn(_ priority: Priority, asker: String = "", now: Instant) -> Duration {
        if let turn = nextTurn(priority, asker: asker, now) {
            return max(Limit.retryAfterMinimum, now.duration(to: turn))
        }
        return max(Limit.retryAfterWithoutShare, bucket.closedUntil(now).map { now.duration(to: $0) } ?? .zero)
    }
}

/// The times that were named to refused requests of one priority.
private struct Appointments: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// Of all askers together.
    private var last: Instant?
    /// Of each asker, while it is to come.
    private var ofAskers: [String: Instant] = [:]

    /// One interval after the last one of everybody, or of the asker, who has one already: whoever is refused a thousand
    /// times pushes out its own times, and those of the others once.
    mutating func next(asker: String, turn: Instant, interval: Duration, now: Instant) -> Instant {
        let latest = turn + RateLedger.Limit.appointmentsMaximum
        if !asker.isEmpty, let own = ofAskers[asker], own > now {
            let appointment = min(max(turn, own + interval), latest)
            ofAskers[asker] = appointment
            return appointment
        }
        let appointment = min(max(turn, last.map { $0 + interval } ?? turn), latest)
        last = appointment
        guard !asker.isEmpty else { return appointment }
        if ofAskers.count >= RateLedger.Limit.askersMaximum { ofAskers = ofAskers.filter { $0.value > now } }
        if ofAskers.count < RateLedger.Limit.askersMaximum { ofAskers[asker] = appointment }
        return appointment
    }
}
