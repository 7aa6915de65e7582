import ServiceRuntime

/// How long what expires stays, in days; nil is for ever.
///
/// The books stay: orders, the ledger, owners, the audit log.
///
/// | variable | what goes | default |
/// |---|---|---|
/// | `COUNTERSIGN_RETENTION_PROOFS` | proofs of submissions that have an outcome for good | 400 |
/// | `COUNTERSIGN_RETENTION_REJECTED_PROOFS` | proofs of rejected submissions | 30 |
/// | `COUNTERSIGN_RETENTION_REJECTED` | rejected submissions, with their outcome | 400 |
/// | `COUNTERSIGN_RETENTION_NOTIFICATIONS` | Apple's notifications that were dealt with | 200 |
/// | `COUNTERSIGN_RETENTION_APPLE_CALLS` | calls to Apple that were made, refused or too late; open ones stay | 400 |
/// | `COUNTERSIGN_RETENTION_RECOVERIES` | that something was found by asking Apple, and questions to Apple that are asked once; the orders stay | 400 |
/// | `COUNTERSIGN_RETENTION_EVENTS` | events | 400 |
/// | `COUNTERSIGN_RETENTION_DELIVERIES` | deliveries of webhooks, and what can be sent again | 90 |
/// | `COUNTERSIGN_RETENTION_ATTEMPTS` | attempts to deliver webhooks: what endpoints answered, and when | 30 |
///
/// Each is a number of days, or `none`: that stays for ever. Months are dropped whole, so that what is in one stays up to
/// a month longer.
struct Retention: Sendable, Equatable {
    var proofs: Duration? = .days(400)
    var rejectedProofs: Duration? = .days(30)
    var rejected: Duration? = .days(400)
    var notifications: Duration? = .days(200)
    var appleCalls: Duration? = .days(400)
    var recoveries: Duration? = .days(400)
    var events: Duration? = .days(400)
    var deliveries: Duration? = .days(90)
    var attempts: Duration? = .days(30)

    enum Limit {
        /// Days: less than a week the database refuses; more than a century is a mistake.
        static let days = 8...36_500
        static let rejectedDays = 1...36_500
        /// Apple lists notifications for 180 days: what it still lists would be found again.
        static let recoveriesDays = 200...36_500
        /// Rows that one statement removes.
        static let batch = 500
        /// Batches of one look; the next look goes on.
        static let batchesPerLook = 200
    }

    init() {}

    init(_ settings: SettingReader) throws {
        let standard = Retention()
        proofs = try settings.days("retention.proofs", default: standard.proofs, in: Limit.days)
        rejectedProofs = try settings.days(
            "retention.rejected_proofs", default: standard.rejectedProofs, in: Limit.rejectedDays)
        rejected = try settings.days("retention.rejected", default: standard.rejected, in: Limit.days)
        notifications = try settings.days("retention.notifications", default: standard.notifications, in: Limit.days)
        appleCalls = try settings.days("retention.apple_calls", default: standard.appleCalls, in: Limit.days)
        recoveries = try settings.days(
            "retention.recoveries", default: standard.recoveries, in: Limit.recoveriesDays)
        events = try settings.days("retention.events", default: standard.events, in: Limit.days)
        deliveries = try settings.days("retention.deliveries", default: standard.deliveries, in: Limit.days)
        attempts = try settings.days("retention.attempts", default: standard.attempts, in: Limit.days)
        // A delivery is sent with its event's bytes.
        if let events, deliveries.map({ $0 > events }) ?? true {
            throw SettingError.invalid(
                "retention.deliveries", expected: "a number of days no larger than COUNTERSIGN_RETENTION_EVENTS",
                found: try settings.string(
                    "retention.deliveries", default: deliveries == nil ? "none" : "the default, 90"))
        }
    }
}

extension SettingReader {
    /// Days within `range`, or nil for `none`.
    fileprivate func days(
        _ key: String, default value: Duration?, in range: ClosedRange<Int>
    ) throws(SettingError) -> Duration? {
        guard let text = try string(key) else { return value }
        if text.lowercased() == "none" { return nil }
        guard let days = Int(text), range.contains(days) else {
            throw .invalid(
                key, expected: "a number of days from \(range.lowerBound) to \(range.upperBound), or none", found: text)
        }
        return .days(days)
    }
}

extension Duration {
    /// Days of 24 hours.
    static func days(_ count: Int) -> Duration { .seconds(count * 86_400) }
}
