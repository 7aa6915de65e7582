import Synchronization

/// Stops asking a host when nearly nothing comes back, and asks again carefully.
///
/// It is for a host that is down, not for one that is unwell: half of the requests may fail for ever and it stays closed.
/// README.md says what is promised. The decisions are ``BreakerLedger``'s; this class has the lock and the clock.
public final class CircuitBreaker: Sendable {
    /// When the breaker opens, and how it probes.
    public struct Settings: Sendable, Hashable {
        /// It does not open on fewer requests in the window than these.
        public var samplesMinimum: Int
        /// It opens when at least this part of the requests in the window failed, 0...1.
        public var failureShare: Double
        /// How far back requests count.
        public var window: Duration
        /// From opening to the first probe.
        public var probeDelay: Duration
        /// The delay doubles with each probe that fails, less up to a fifth at random, and no further than this.
        public var probeDelayMaximum: Duration
        /// A probe that has not reported by then is given up, and the next request is one.
        public var probeTimeout: Duration

        /// The settings.
        ///
        /// `probeTimeout` has to be longer than the time-out of a request.
        public init(
            samplesMinimum: Int = 20, failureShare: Double = 0.9, window: Duration = .seconds(10),
            probeDelay: Duration = .seconds(1), probeDelayMaximum: Duration = .seconds(30),
            probeTimeout: Duration = .seconds(60)
        ) {
            self.samplesMinimum = samplesMinimum
            self.failureShare = failureShare
            self.window = window
            self.probeDelay = probeDelay
            self.probeDelayMaximum = probeDelayMaximum
            self.probeTimeout = probeTimeout
        }
    }

    /// Whether a request may be sent.
    public enum Admission: Sendable, Hashable {
        /// Yes. Report what became of it.
        case allowed
        /// Yes, and nobody else may until it is known what became of it: report it, whatever happens.
        case probe
        /// No. After this time the next probe may be due.
        case refused(retryAfter: Duration)
    }

    private struct State: Sendable {
        var ledger: BreakerLedger
        var generator = SystemRandomNumberGenerator()
        /// Changes that nobody was told of yet, oldest first.
        var changes: [Bool] = []
        var isTelling = false
    }

    private let time: TimeSource
    private let onChange: @Sendable (_ isOpen: Bool) -> Void
    private let state: Mutex<State>

    /// A closed breaker.
    ///
    /// - Parameter onChange: called with every change, one at a time, in the order in which they happened, outside the
    ///   lock, by whoever reported the request that led to it, or to the change before. It must not block.
    public convenience init(
        settings: Settings = .init(), onChange: @escaping @Sendable (_ isOpen: Bool) -> Void = { _ in }
    ) {
        self.init(settings: settings, time: .continuous, onChange: onChange)
    }

    init(settings: Settings, time: TimeSource, onChange: @escaping @Sendable (_ isOpen: Bool) -> Void) {
        self.time = time
        self.onChange = onChange
        state = Mutex(State(ledger: BreakerLedger(settings: settings, now: time.now())))
    }

    /// Whether requests are refused, but for probes.
    public var isOpen: Bool {
        state.withLock { $0.ledger.isOpen }
    }

    /// How long until ``admit()`` may say ``Admission/probe``; nil when closed.
    ///
    /// While a probe is out: the delay that would follow its failure.
    public var nextProbe: Duration? {
        state.withLock { $0.ledger.nextProbe(time.now()) }
    }

    /// Asks whether a request may be sent now.
    public func admit() -> Admission {
        state.withLock { $0.ledger.admit(time.now()) }
    }

    /// A request was answered.
    ///
    /// While a probe is out it is taken for the probe; ``succeeded(_:)`` does not have to guess.
    public func succeeded() {
        change { state, now in state.ledger.succeeded(nil, now: now) }
    }

    /// A request that was admitted like this was answered.
    public func succeeded(_ admission: Admission) {
        change { state, now in state.ledger.succeeded(admission, now: now) }
    }

    /// A request failed.
    ///
    /// While a probe is out it is taken for the probe; ``failed(_:)`` does not have to guess.
    public func failed() {
        change { state, now in state.ledger.failed(nil, now: now, using: &state.generator) }
    }

    /// A request that was admitted like this failed.
    public func failed(_ admission: Admission) {
        change { state, now in state.ledger.failed(admission, now: now, using: &state.generator) }
    }

    /// The probe was given up before it was known what becomes of it: the next request is one.
    public func abandoned() {
        change { state, now in state.ledger.abandoned(nil, now: now) }
    }

    /// A request that was admitted like this was given up before it was known what becomes of it.
    public func abandoned(_ admission: Admission) {
        change { state, now in state.ledger.abandoned(admission, now: now) }
    }

    private func change(_ body: (inout State, ContinuousClock.Instant) -> Void) {
        let mustTell = state.withLock { state in
            let wasOpen = state.ledger.isOpen
            body(&state, time.now())
            if state.ledger.isOpen != wasOpen { state.changes.append(!wasOpen) }
            if state.changes.isEmpty || state.isTelling { return false }
            state.isTelling = true
            return true
        }
        if mustTell { tell() }
    }

    /// One thread at a time tells, and goes on until there is nothing left: so nothing is told out of order.
    private func tell() {
        while let isOpen = nextChange() { onChange(isOpen) }
    }

    private func nextChange() -> Bool? {
        state.withLock { state in
            guard !state.changes.isEmpty else {
                state.isTelling = false
                return nil
            }
            return state.changes.removeFirst()
        }
    }
}
