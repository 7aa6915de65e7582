import Foundation
import Logging
import Persistence
import ServiceRuntime

/// Tells of attempts, in lines and numbers.
struct AttemptReport: Sendable {
    let metrics: DeliveryMetrics
    let logger: Logger

    /// An attempt has ended; what becomes of a delivery whose schedule is used up is told when it is known.
    func ended(_ verdict: DeliveryVerdict, _ due: DeliveryStore.Due, duration: Duration) {
        metrics.record(
            verdict, endpointId: due.endpointId, duration: duration,
            age: .seconds(Date().timeIntervalSince(due.createdAt)))
        var fields = fields(due.eventId, due.endpointId, attempt: due.attempts + 1)
        switch verdict.result {
        case .delivered:
            logger.debug("webhook delivered", metadata: fields)
        case .retry(_, let error, let delay):
            fields.merge(.fields([.error: "\(error)", .delay: "\(delay)"])) { first, _ in first }
            logger.info("webhook not delivered, to be tried again", metadata: fields)
        case .exhausted: break
        }
    }

    /// An attempt of a delivery whose schedule is used up was written down.
    func exhausted(_ finished: DeliveryInbox.Finished, _ recorded: DeliveryStore.Recorded, error: String) {
        metrics.record(exhausted: recorded)
        var fields = fields(finished.eventId, finished.endpointId, attempt: finished.number)
        fields.merge(.fields([.error: "\(error)"])) { first, _ in first }
        if recorded.isAbandoned {
            logger.error("webhook given up: its endpoint takes others", metadata: fields)
        } else if recorded.waitsForEndpoint {
            logger.info("webhook not delivered, to be tried again while its endpoint takes nothing", metadata: fields)
        } else {
            logger.info("webhook not delivered, its schedule begins anew after an outage", metadata: fields)
        }
    }

    /// An endpoint is left alone but for an attempt now and then, or no longer is.
    func breaker(_ endpointId: String, isOpen: Bool) {
        metrics.record(breaker: endpointId, isOpen: isOpen)
        let fields = Logger.Metadata.fields([.endpoint: "\(endpointId)"])
        if isOpen {
            logger.warning(
                "a webhook endpoint only fails: it is tried now and then, and the rest waits", metadata: fields)
        } else {
            logger.notice("a webhook endpoint takes webhooks again", metadata: fields)
        }
    }

    private func fields(_ eventId: String, _ endpointId: String, attempt: Int) -> Logger.Metadata {
        .fields([.event: "\(eventId)", .endpoint: "\(endpointId)", .attempt: "\(attempt)"])
    }
}
