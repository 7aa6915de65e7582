/// How long a submission of unknown verdict is put off: doubling from the verifier's word, with jitter.
struct BackOff: Sendable {
    /// Where doubling ends.
    let delayMaximum: Duration

    /// The delay is drawn from this share to all of it, so that what failed together does not come back together.
    private static let jitterShare = 0.5
    /// Beyond it doubling would overflow long after the maximum was reached.
    private static let doublingsMaximum = 20

    /// The delay before the next attempt.
    ///
    /// - Parameters:
    ///   - retryAfterSeconds: the verifier's word, the least that the delay may be.
    ///   - attempt: attempts made before, from 0.
    func delay(retryAfterSeconds: Double, attempt: Int, using generator: inout some RandomNumberGenerator) -> Duration {
        let base = max(1, retryAfterSeconds)
        var doubled = base
        for _ in 0..<min(max(0, attempt), Self.doublingsMaximum) { doubled *= 2 }
        let maximum = Double(delayMaximum.components.seconds)
        let delay = min(doubled, max(maximum, base))
        let jittered = delay * Double.random(in: Self.jitterShare...1, using: &generator)
        return .milliseconds(Int64(max(base, jittered) * 1000))
    }
}
