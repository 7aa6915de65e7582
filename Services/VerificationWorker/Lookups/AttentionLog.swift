import Logging
import Metrics
import PurchaseModel
import ServiceRuntime
import Synchronization

/// Tells people that somebody must look: an error in the log for each app and reason, at most once a minute, and
/// `countersign_attention_total{reason}` every time.
final class AttentionLog: Sendable {
    /// The least time between two lines about the same.
    static let interval = Duration.seconds(60)
    /// Apps and reasons that are kept apart; beyond it, all are forgotten and may be told again.
    static let entriesMaximum = 10_000

    private struct Key: Hashable {
        let reason: ReasonCode
        let app: String
    }

    private let logger: Logger
    private let told = Mutex<[Key: ContinuousClock.Instant]>([:])

    init(logger: Logger) {
        self.logger = logger
    }

    /// Says what is wrong, without anything that was signed or secret.
    func raise(_ reason: ReasonCode, app: String, _ message: String) {
        Counter(label: "countersign_attention_total", dimensions: [("reason", reason.rawValue)]).increment()
        let key = Key(reason: reason, app: app)
        let now = ContinuousClock.now
        let isNews = told.withLock { told in
            if let last = told[key], now - last < AttentionLog.interval { return false }
            if told.count >= AttentionLog.entriesMaximum { told = [:] }
            told[key] = now
            return true
        }
        guard isNews else { return }
        logger.error(
            "somebody must look: \(message)", metadata: .fields([.reason: "\(reason)", .app: "\(app)"]))
    }
}
