/// How often each account may do something, in this process.
struct AccountRate: Sendable {
    enum Limit {
        /// The most accounts that are remembered; who has made up for what was done is forgotten.
        static let accountsMaximum = 100_000
        static let window = TurnRateLimit.window
        /// This part of a minute's turns may come at once: a second's.
        ///
        /// More would show in what others' purchases take.
        static let partAtOnce = 60
        /// So few may always come at once.
        static let alwaysAtOnce = 10
    }

    typealias Exceeded = TurnsExceeded

    private struct Account: Hashable, Sendable {
        let app: String
        let name: String
    }

    private let turns: TurnRate<Account>

    /// - Parameters:
    ///   - perMinute: at least 1.
    ///   - holdMaximum: how long one too many may be held.
    init(perMinute: Int, holdMaximum: Duration = .zero, accountsMaximum: Int = Limit.accountsMaximum) {
        turns = TurnRate(
            perMinute: perMinute, atOnce: max(Limit.alwaysAtOnce, perMinute / Limit.partAtOnce),
            holdMaximum: holdMaximum, keysMaximum: accountsMaximum)
    }

    /// Times a minute.
    var perMinute: Int { turns.perMinute }

    /// How many accounts are remembered.
    var accountsCount: Int { turns.count }

    /// Takes a turn of an account.
    ///
    /// - Returns: how long to wait until it begins.
    /// - Throws: ``Exceeded``; then nothing was taken.
    @discardableResult
    func take(app: String, account: String, now: ContinuousClock.Instant = .now) throws(Exceeded) -> Duration {
        try turns.take(Account(app: app, name: account), now: now)
    }

    /// Has the answer tell what is left of an account's turns.
    func note(_ limit: String, app: String, account: String) {
        RateNotes.note(limit, turns, Account(app: app, name: account))
    }

    /// Gives a turn of an account back that led to nothing.
    func giveBack(app: String, account: String) {
        turns.giveBack(Account(app: app, name: account))
    }
}
