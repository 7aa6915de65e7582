import Metrics

/// Whether nothing is sent again for now: what is due is still on its way.
///
/// A row is due when its lease is over, 30 s after it was sent. When the consumers are further behind than that, its message waits in
/// Kafka, and will be settled; another one would only wait behind it, and have them fall back further. Where it is not
/// known how far they are, all that is due is sent: the lease doubles with every attempt.
struct RedriveHold: Sendable {
    /// A lag is told by looks that are seconds apart: a smaller one is none.
    static let lagMinimum = Duration.seconds(10)

    private let lag: @Sendable () -> Duration?
    private let lagMaximum: Duration
    private let held = Gauge(label: "countersign_redrive_held")
    private let behind = Gauge(label: "countersign_redrive_lag_seconds")

    /// - Parameters:
    ///   - lease: the first lease of a row.
    ///   - lag: how long what is sent takes to its outcome; nil when that is not known.
    init(lease: Duration, lag: @escaping @Sendable () -> Duration?) {
        self.lag = lag
        lagMaximum = max(lease, Self.lagMinimum)
    }

    /// Looks, and tells.
    func isHeld() -> Bool {
        let lag = lag()
        let isHeld = lag.map { $0 > lagMaximum } ?? false
        held.record(isHeld ? 1 : 0)
        behind.record(lag.map { Double($0.components.seconds) } ?? 0)
        return isHeld
    }
}
