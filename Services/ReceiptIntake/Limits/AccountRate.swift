import Synchronization

/// How often each account may do something: so many times a minute, all of them at once if it likes.
///
/// It is counted in this process's memory: with several processes an account may do as much in each. The algorithm is the
/// generic cell rate algorithm (ITU-T I.371), which needs one time for each account.
final class AccountRate: Sendable {
    enum Limit {
        /// The most accounts that are remembered; who has made up for what was done is forgotten.
        static let accountsMaximum = 100_000
        static let window = Duration.seconds(60)
    }

    /// So much was done that there is no turn now.
    struct Exceeded: Error, Equatable {
        /// Until when there is one again.
        let wait: Duration
    }

    private struct Account: Hashable {
        let app: String
        let name: String
    }

    /// Times a minute.
    let perMinute: Int
    private let accountsMaximum: Int
    private let interval: Duration
    /// When an account has made up for all that it did.
    private let even = Mutex<[Account: ContinuousClock.Instant]>([:])

    /// - Parameter perMinute: at least 1.
    init(perMinute: Int, accountsMaximum: Int = Limit.accountsMaximum) {
        self.perMinute = max(1, perMinute)
        self.accountsMaximum = accountsMaximum
        interval = Limit.window / max(1, perMinute)
    }

    /// How many accounts are remembered.
    var accountsCount: Int { even.withLock { $0.count } }

    /// Takes a turn of an account.
    ///
    /// - Throws: ``Exceeded``; then nothing was taken.
    func take(app: String, account: String, now: ContinuousClock.Instant = .now) throws(Exceeded) {
        let account = Account(app: app, name: account)
        let wait: Duration = even.withLock { even in
            let next = max(now, even[account] ?? now) + interval
            let wait = next - now - Limit.window
            guard wait <= .zero else { return wait }
            if even.count >= accountsMaximum { even = even.filter { $0.value > now } }
            // Beyond the maximum nobody is refused: so many accounts at a time are no flood of one.
            if even.count < accountsMaximum || even[account] != nil { even[account] = next }
            return .zero
        }
        if wait > .zero { throw Exceeded(wait: wait) }
    }
}
