import Persistence
import ServiceRuntime

/// What is asked of Apple without anybody having posted anything, and how often.
///
/// It needs the database.
///
/// | variable | meaning | default |
/// |---|---|---|
/// | `COUNTERSIGN_SWEEP` | `on`: ask Apple for unreported purchases; `off` | `on` in a worker with a database |
/// | `COUNTERSIGN_SWEEP_INTERVAL` | seconds between looks for what is due | 5 |
/// | `COUNTERSIGN_SWEEP_SHARE_PERCENT` | how much of the workers' budget it may use, where players leave it so much | 25 |
/// | `COUNTERSIGN_SWEEP_IN_FLIGHT_MAXIMUM` | questions that one worker has under way | 4 |
/// | `COUNTERSIGN_SWEEP_LEASE` | seconds after which another worker goes on with a dead one's question | 120 |
/// | `COUNTERSIGN_SWEEP_NOTIFICATIONS_INTERVAL` | seconds between two looks at what Apple sent of late; 0 for never | 900 |
/// | `COUNTERSIGN_SWEEP_NOTIFICATIONS_OVERLAP` | seconds by which each look begins before the end of the last one | 900 |
/// | `COUNTERSIGN_SWEEP_NOTIFICATIONS_LOOKBACK` | seconds that the first look goes back, and every look for failures | 604800 |
/// | `COUNTERSIGN_SWEEP_FAILURES_INTERVAL` | seconds between two looks at what Apple could not deliver; 0 for never | 21600 |
/// | `COUNTERSIGN_SWEEP_HISTORY_INTERVAL` | seconds between two looks at one customer's transactions; 0 for never | 604800 |
/// | `COUNTERSIGN_SWEEP_REFUNDS_INTERVAL` | seconds between two looks at one customer's refunds; 0 for never | 2592000 |
/// | `COUNTERSIGN_SWEEP_STATUSES_INTERVAL` | seconds between two looks at one customer's subscriptions; 0 for never | 604800 |
/// | `COUNTERSIGN_SWEEP_PLAN_INTERVAL` | seconds between two looks for what is likely lost | 60 |
/// | `COUNTERSIGN_SWEEP_INTENT_DELAY` | seconds after an intent was opened until its purchase is looked for | 600 |
struct SweepSettings: Sendable {
    enum Limit {
        /// The longest interval: a year.
        static let interval = Duration.seconds(365 * 86_400)
        /// The longest look back: Apple keeps notifications for 180 days.
        static let lookback = Duration.seconds(180 * 86_400)
    }

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

    /// The defaults of the table.
    init() {}

    init(_ settings: SettingReader) throws {
        isOn = try settings.choice("sweep", default: Switch.on) == .on
        interval = try settings.duration(
            "sweep.interval", default: interval, in: .milliseconds(100)...(.seconds(3_600)))
        share = Double(try settings.int("sweep.share_percent", default: 25, in: 1...100)) / 100
        inFlightMaximum = try settings.int("sweep.in_flight_maximum", default: inFlightMaximum, in: 1...64)
        lease = try settings.duration("sweep.lease", default: lease, in: .seconds(1)...(.seconds(86_400)))
        let every = Limit.interval
        overlap = try settings.duration("sweep.notifications_overlap", default: overlap, in: .zero...every)
        lookback = try settings.duration(
            "sweep.notifications_lookback", default: lookback, in: .seconds(1)...Limit.lookback)
        let notifications = try settings.duration(
            "sweep.notifications_interval", default: .seconds(900), in: .zero...every)
        let failures = try settings.duration(
            "sweep.failures_interval", default: .seconds(21_600), in: .zero...every)
        let history = try settings.duration("sweep.history_interval", default: .seconds(604_800), in: .zero...every)
        let refunds = try settings.duration("sweep.refunds_interval", default: .seconds(2_592_000), in: .zero...every)
        let statuses = try settings.duration("sweep.statuses_interval", default: .seconds(604_800), in: .zero...every)
        intervals = [
            .notifications: notifications, .failures: failures, .history: history, .refunds: refunds,
            .statuses: statuses,
        ].filter { $0.value > .zero }
        planInterval = try settings.duration(
            "sweep.plan_interval", default: planInterval, in: .milliseconds(100)...(.seconds(86_400)))
        intentDelay = try settings.duration("sweep.intent_delay", default: intentDelay, in: .zero...every)
    }
}
