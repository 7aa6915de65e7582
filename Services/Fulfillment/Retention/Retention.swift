import ServiceRuntime

/// How long what expires stays, in days; nil is for ever.
///
/// The books stay: orders, the ledger, owners, the audit log.
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
    var views: Duration? = .days(400)

    /// Days: less than a week the database refuses; more than a century is a mistake.
    static let daysRange = 8...36_500
    static let rejectedDaysRange = 1...36_500
    /// Apple lists notifications for 180 days: what it still lists would be found again.
    static let recoveriesDaysRange = 200...36_500
    /// Rows that one statement removes.
    static let batchMaximum = 500
    /// Batches of one look; the next look goes on.
    static let batchesPerLook = 200

    init() {}

    init(_ settings: SettingReader) throws {
        let standard = Retention()
        // days until these go, or `none`: proofs of submissions that have an outcome for good
        proofs = try settings.days("retention.proofs", default: standard.proofs, in: Self.daysRange)
        // days until these go, or `none`: proofs of rejected submissions
        rejectedProofs = try settings.days(
            "retention.rejected_proofs", default: standard.rejectedProofs, in: Self.rejectedDaysRange)
        // days until these go, or `none`: rejected submissions, with their outcome
        rejected = try settings.days("retention.rejected", default: standard.rejected, in: Self.daysRange)
        // days until these go, or `none`: Apple's notifications that were dealt with
        notifications = try settings.days(
            "retention.notifications", default: standard.notifications, in: Self.daysRange)
        // days until these go, or `none`: calls to Apple that were made, refused or too late; open ones stay
        appleCalls = try settings.days("retention.apple_calls", default: standard.appleCalls, in: Self.daysRange)
        // days until these go, or `none`: that something was found by asking Apple, and questions to Apple that are
        // asked once; the orders stay
        recoveries = try settings.days(
            "retention.recoveries", default: standard.recoveries, in: Self.recoveriesDaysRange)
        // days until these go, or `none`: events
        events = try settings.days("retention.events", default: standard.events, in: Self.daysRange)
        // days until these go, or `none`: deliveries of webhooks, and what can be sent again
        deliveries = try settings.days("retention.deliveries", default: standard.deliveries, in: Self.daysRange)
        // days until these go, or `none`: attempts to deliver webhooks: what endpoints answered, and when
        attempts = try settings.days("retention.attempts", default: standard.attempts, in: Self.daysRange)
        // days until these go, or `none`: which of your people looked at whose data
        views = try settings.days("retention.views", default: standard.views, in: Self.daysRange)
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
