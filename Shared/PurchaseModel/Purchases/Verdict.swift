/// What a verification found out; three values and no more.
///
/// A fault of the network, a rate limit, an unreachable responder is `unknown`: it comes back later, and never reaches
/// a buyer as a refusal.
package enum Verdict: Sendable, Hashable {
    /// Apple signed it; every transaction that the proof holds.
    case genuine([Transaction])
    /// It can never become genuine, and why.
    case rejected(ReasonCode, detail: String)
    /// Nothing is known yet; ask again after so many seconds at the earliest.
    case unknown(ReasonCode, retryAfterSeconds: Double)
}
