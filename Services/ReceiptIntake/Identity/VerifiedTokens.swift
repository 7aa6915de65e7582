import Synchronization

/// Tokens whose signature was found good a moment ago: a player sends the same one with each request.
///
/// Only the signature is remembered; the claims are checked at every use. A key that is taken out of a key set is good for
/// as long as a token is remembered, at most.
final class VerifiedTokens: Sendable {
    enum Limit {
        /// The most tokens; beyond it all are forgotten.
        static let tokens = 10_000
        /// The longest token that is remembered, in bytes.
        static let tokenBytes = 2 << 10
        static let time = Duration.seconds(30)
    }

    private struct Entry {
        let claims: AccountClaims
        let keys: Int
        let until: ContinuousClock.Instant
    }

    private let entries = Mutex<[String: Entry]>([:])

    /// How many are remembered.
    var count: Int { entries.withLock { $0.count } }

    /// What a token says; nil where its signature has to be verified.
    ///
    /// - Parameter keys: which keys the app has; under others nothing is remembered.
    func claims(of token: String, keys: Int, now: ContinuousClock.Instant = .now) -> AccountClaims? {
        entries.withLock { entries in
            guard let entry = entries[token] else { return nil }
            guard entry.keys == keys, now < entry.until else {
                entries[token] = nil
                return nil
            }
            return entry.claims
        }
    }

    /// Remembers what a token says.
    func remember(_ token: String, _ claims: AccountClaims, keys: Int, now: ContinuousClock.Instant = .now) {
        guard token.utf8.count <= Limit.tokenBytes else { return }
        entries.withLock { entries in
            if entries.count >= Limit.tokens { entries = [:] }
            entries[token] = Entry(claims: claims, keys: keys, until: now + Limit.time)
        }
    }
}
