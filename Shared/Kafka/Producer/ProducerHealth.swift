/// Decides when a producer's client is past help: events in, verdict out, no clock and no I/O.
///
/// An idempotent client that outlives a broker which lost its data can be refused for ever, while a new client works
/// at once. Time-outs alone prove nothing, since a broker may be down: a client is given up only when the broker has
/// answered it for a while, and still acknowledges nothing.
struct ProducerHealth {
    enum Verdict: Equatable {
        case healthy
        /// Ask the broker for metadata, and report the answer.
        case probe
        case replace
    }

    typealias Instant = ContinuousClock.Instant

    /// The least time between two probes, since a probe blocks the client's thread.
    static let probeInterval = Duration.seconds(1)

    private let stallTime: Duration
    private let recoveryGrace: Duration
    private var isBroken = false
    private var timeOuts = 0
    private var lastSuccess: Instant
    private var lastProbe: Instant?
    private var answeringSince: Instant?

    init(stallTime: Duration, recoveryGrace: Duration, now: Instant) {
        self.stallTime = stallTime
        self.recoveryGrace = recoveryGrace
        lastSuccess = now
    }

    /// A message was acknowledged, so the client works.
    mutating func delivered(at now: Instant) {
        lastSuccess = now
        timeOuts = 0
        answeringSince = nil
    }

    /// A message timed out.
    mutating func timedOut() {
        timeOuts += 1
    }

    /// The client said that it cannot go on, or its producer id is not known.
    mutating func broke() {
        isBroken = true
    }

    /// A probe came back.
    mutating func probed(isAnswered: Bool, at now: Instant) {
        lastProbe = now
        answeringSince = isAnswered ? answeringSince ?? now : nil
    }

    /// What to do now.
    ///
    /// - Parameter waitingSince: when something began to wait; nil when nothing waits.
    mutating func verdict(at now: Instant, waitingSince: Instant?) -> Verdict {
        if isBroken { return .replace }
        guard isSuspect(at: now, waitingSince: waitingSince) else {
            answeringSince = nil
            return .healthy
        }
        if let answeringSince, answeringSince.duration(to: now) >= recoveryGrace { return .replace }
        if let lastProbe, lastProbe.duration(to: now) < Self.probeInterval { return .healthy }
        return .probe
    }

    private func isSuspect(at now: Instant, waitingSince: Instant?) -> Bool {
        if timeOuts > 0 { return true }
        guard let waitingSince else { return false }
        return max(waitingSince, lastSuccess).duration(to: now) >= stallTime
    }
}
