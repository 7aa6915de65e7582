/// When a notification is tried again, and how long it is kept (apple-facts C9).
enum NotificationSchedule {
    enum Limit {
        /// Attempts in production: the first, and five more.
        static let attempts = 6
        /// Notifications after which those that are too old are looked for: rarely enough to cost nothing.
        static let recordsBetweenCleanings: Int64 = 1_024
        /// Of ``StoreState/Limit/notifications``, the share that goes at a time when there are too many: one in so many.
        static let shareForgotten = 100
    }

    private static let hour: Int64 = 3_600_000

    /// From one attempt to the next, milliseconds.
    static let delays: [Int64] = [1, 12, 24, 48, 72].map { $0 * hour }

    /// When the attempt after `attempts` failed ones is made; nil when that was the last.
    ///
    /// - Parameter last: when the last of them was made, milliseconds since 1970.
    static func next(after attempts: Int, last: Int64, in environment: StoreEnvironment) -> Int64? {
        guard environment == .production, (1...delays.count).contains(attempts) else { return nil }
        return last + delays[attempts - 1]
    }

    /// How long the history reaches back, milliseconds.
    static func history(in environment: StoreEnvironment) -> Int64 {
        (environment == .production ? 180 : 30) * 24 * hour
    }
}
