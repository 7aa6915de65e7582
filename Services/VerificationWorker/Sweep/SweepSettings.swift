import Persistence
import ServiceRuntime

/// What is asked of Apple without anybody having posted anything, and how often.
///
/// It needs the database.
struct SweepSettings: Sendable {
    /// The longest interval: a year.
    static let intervalMaximum = Duration.seconds(365 * 86_400)
    /// The longest look back: Apple keeps notifications for 180 days.
    static let lookbackMaximum = Duration.seconds(180 * 86_400)

    /// Whether it sweeps.
    private enum Switch: String, CaseIterable {
        case on, off
    }

    var isOn = true
    var interval = Duration.seconds(5)
    var share = 0.25
    var inFlightMaximum = 4
    var lease = Duration.seconds(120)
    /// How often each kind is asked; of a kind that is left out nothing is.
    var intervals: [SweepTask.Kind: Duration] = [
        .notifications: .seconds(900), .failures: .seconds(21_600), .history: .seconds(604_800),
        .refunds: .seconds(2_592_000), .statuses: .seconds(604_800),
    ]
    var overlap = Duration.seconds(900)
    var lookback = Duration.seconds(604_800)
    var planInterval = Duration.seconds(60)
    var intentDelay = Duration.seconds(600)

    /// The defaults.
    init() {}

    init(_ settings: SettingReader) throws {
        // `on`: ask Apple for unreported purchases; `off`
        // Default: `on` in a worker with a database
        isOn = try settings.choice("sweep", default: Switch.on) == .on
        // seconds between looks for what is due
        interval = try settings.duration(
            "sweep.interval", default: interval, in: .milliseconds(100)...(.seconds(3_600)))
        // how much of the workers' budget it may use, where players leave it so much
        share = Double(try settings.int("sweep.share_percent", default: 25, in: 1...100)) / 100
        // questions that one worker has under way
        inFlightMaximum = try settings.int("sweep.in_flight_maximum", default: inFlightMaximum, in: 1...64)
        // seconds after which another worker goes on with a dead one's question
        lease = try settings.duration("sweep.lease", default: lease, in: .seconds(1)...(.seconds(86_400)))
        let every = Self.intervalMaximum
        // seconds by which each look begins before the end of the last one
        overlap = try settings.duration("sweep.notifications_overlap", default: overlap, in: .zero...every)
        // seconds that the first look goes back, and every look for failures
        lookback = try settings.duration(
            "sweep.notifications_lookback", default: lookback, in: .seconds(1)...Self.lookbackMaximum)
        // seconds between two looks at what Apple sent of late; 0 for never
        let notifications = try settings.duration(
            "sweep.notifications_interval", default: .seconds(900), in: .zero...every)
        // seconds between two looks at what Apple could not deliver; 0 for never
        let failures = try settings.duration(
            "sweep.failures_interval", default: .seconds(21_600), in: .zero...every)
        // seconds between two looks at one customer's transactions; 0 for never
        let history = try settings.duration("sweep.history_interval", default: .seconds(604_800), in: .zero...every)
        // seconds between two looks at one customer's refunds; 0 for never
        let refunds = try settings.duration("sweep.refunds_interval", default: .seconds(2_592_000), in: .zero...every)
        // seconds between two looks at one customer's subscriptions; 0 for never
        let statuses = try settings.duration("sweep.statuses_interval", default: .seconds(604_800), in: .zero...every)
        intervals = [
            .notifications: notifications, .failures: failures, .history: history, .refunds: refunds,
            .statuses: statuses,
        ].filter { $0.value > .zero }
        // seconds between two looks for what is likely lost
        planInterval = try settings.duration(
            "sweep.plan_interval", default: planInterval, in: .milliseconds(100)...(.seconds(86_400)))
        // seconds after an intent was opened until its purchase is looked for
        intentDelay = try settings.duration("sweep.intent_delay", default: intentDelay, in: .zero...every)
    }
}
