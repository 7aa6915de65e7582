/// Whether a host may be asked: all decisions of a ``CircuitBreaker``, as a value without a clock.
///
/// closed → (nearly everything failed) → open → (a delay later) → probing → closed, or open again for twice as long.
///
/// When the breaker opens, requests are still out. They end later, most of them badly, and say nothing about the host as it
/// is by then; so what was only allowed changes nothing until the breaker is closed again. Of a report that does not say
/// whose it is, the probe's is assumed while a probe is out.
struct BreakerLedger: Sendable {
    typealias Instant = ContinuousClock.Instant
    typealias Admission = CircuitBreaker.Admission

    enum Limit {
        /// How much of a doubled delay is left out at random, so that processes do not probe in step.
        static let jitter = 0.2
        /// Shorter delays and time-outs are none.
        static let delayMinimum = Duration.milliseconds(1)
        /// Longer ones are as good as for ever.
        static let delayMaximum = Duration.seconds(24 * 3600)
    }

    private enum Mode: Sendable {
        case closed
        case open(probeAt: Instant)
        case probing(until: Instant)
    }

    private let settings: CircuitBreaker.Settings
    private var mode = Mode.closed
    private var window: FailureWindow
    /// The delay, without jitter, before the probe that is awaited or out.
    private var delay: Duration

    init(settings: CircuitBreaker.Settings, now: Instant) {
        let range = { (duration: Duration) in max(Limit.delayMinimum, duration.bounded(by: Limit.delayMaximum)) }
        var settings = settings
        settings.probeDelay = range(settings.probeDelay)
        settings.probeDelayMaximum = max(settings.probeDelay, range(settings.probeDelayMaximum))
        settings.probeTimeout = range(settings.probeTimeout)
        settings.samplesMinimum = max(1, settings.samplesMinimum)
        self.settings = settings
        window = FailureWindow(length: settings.window, now: now)
        delay = settings.probeDelay
    }

    /// Whether requests are refused, but for probes.
    var isOpen: Bool {
        if case .closed = mode { false } else { true }
    }

    /// How long until a request may be admitted as a probe; nil when closed.
    ///
    /// While a probe is out: the delay that would follow its failure, or what is left of its time if that is less.
    func nextProbe(_ now: Instant) -> Duration? {
        switch mode {
        case .closed: nil
        case .open(let probeAt): max(.zero, now.duration(to: probeAt))
        case .probing(let until): max(.zero, min(now.duration(to: until), doubledDelay))
        }
    }

    // MARK: What happens

    /// Somebody wants to send a request.
    mutating func admit(_ now: Instant) -> Admission {
        switch mode {
        case .closed:
            return .allowed
        case .open(let due), .probing(let due):
            if due > now { return .refused(retryAfter: nextProbe(now) ?? .zero) }
            mode = .probing(until: now + settings.probeTimeout)
            return .probe
        }
    }

    /// A request was answered; nil when it is not known which.
    mutating func succeeded(_ admission: Admission?, now: Instant) {
        switch (mode, admission) {
        case (.closed, _):
            window.add(isFailure: false, now: now)
        case (.probing, nil), (_, .probe):
            // A probe that comes back after it was given up is as good a sign.
            mode = .closed
            window.clear()
        case (.probing, _), (.open, _):
            break
        }
    }

    /// A request failed; nil when it is not known which.
    mutating func failed(
        _ admission: Admission?, now: Instant, using generator: inout some RandomNumberGenerator
    ) {
        switch (mode, admission) {
        case (.closed, _):
            window.add(isFailure: true, now: now)
            guard hasFailed(now) else { return }
            delay = settings.probeDelay
            mode = .open(probeAt: now + delay)
        case (.probing, nil), (.probing, .probe):
            delay = doubledDelay
            mode = .open(probeAt: now + delay * (1 - Double.random(in: 0..<Limit.jitter, using: &generator)))
        case (.probing, _), (.open, _):
            break
        }
    }

    /// A request was given up before it was known what becomes of it; nil when it is not known which.
    mutating func abandoned(_ admission: Admission?, now: Instant) {
        switch (mode, admission) {
        case (.probing, nil), (.probing, .probe): mode = .open(probeAt: now)
        case (.closed, _), (.probing, _), (.open, _): break
        }
    }

    // MARK: Details

    private var doubledDelay: Duration {
        min(settings.probeDelayMaximum, delay * 2)
    }

    private func hasFailed(_ now: Instant) -> Bool {
        let (samples, failures) = window.counts(now)
        return samples >= settings.samplesMinimum
            && Double(failures) / Double(samples) >= settings.failureShare
    }
}
