import PurchaseModel

/// How long a submission of unknown verdict is put off.
///
/// Most reasons double from the verifier's word, since nobody knows when the trouble ends. Where Apple says when to come
/// back, or a breaker probes whether it is there again, doubling would only add waiting: those come back at that time,
/// a little later by chance, and never before.
struct BackOff: Sendable {
    /// Where doubling ends.
    let delayMaximum: Duration

    /// Reasons whose time is Apple's word, or the breaker's.
    static let pacedReasons: Set<ReasonCode> = [.rateLimited, .appStoreUnavailable]

    private enum Limit {
        /// A doubled delay is drawn from this share to all of it, so that what failed together comes back apart.
        static let jitterShare = 0.5
        /// A paced delay grows by at most this share of itself, and by a second where that is more.
        static let pacedJitterShare = 0.2
        static let pacedJitterSeconds = 1.0
        /// Beyond it doubling would overflow long after the maximum was reached.
        static let doublings = 20
        /// The longest word that is believed: a week.
        static let retryAfterSeconds = 604_800.0
    }

    /// The delay before the next attempt.
    ///
    /// - Parameters:
    ///   - reason: why nothing is known.
    ///   - retryAfterSeconds: the verifier's word, the least that the delay may be.
    ///   - attempt: attempts made before, from 0.
    ///   - generator: where the chance comes from.
    func delay(
        for reason: ReasonCode, retryAfterSeconds: Double, attempt: Int,
        using generator: inout some RandomNumberGenerator
    ) -> Duration {
        // In this order nonsense (NaN) becomes a second.
        let base = min(max(1, retryAfterSeconds), Limit.retryAfterSeconds)
        let delay =
            Self.pacedReasons.contains(reason)
            ? paced(base, using: &generator) : doubled(base, attempt: attempt, using: &generator)
        // Rounded up, so that the word is kept to the millisecond.
        return .milliseconds(Int64((delay * 1000).rounded(.up)))
    }

    private func paced(_ base: Double, using generator: inout some RandomNumberGenerator) -> Double {
        let jitter = max(Limit.pacedJitterSeconds, base * Limit.pacedJitterShare)
        return base + Double.random(in: 0...jitter, using: &generator)
    }

    private func doubled(_ base: Double, attempt: Int, using generator: inout some RandomNumberGenerator) -> Double {
        var doubled = base
        for _ in 0..<min(max(0, attempt), Limit.doublings) { doubled *= 2 }
        let delay = min(doubled, max(Double(delayMaximum.components.seconds), base))
        return max(base, delay * Double.random(in: Limit.jitterShare...1, using: &generator))
    }
}
