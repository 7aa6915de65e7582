import Kafka
import Logging
import ServiceRuntime
import Synchronization

/// A producer under a monitor's eyes.
final class WatchedProducer: Sendable {
    private let producer: KafkaProducer
    private let check: HealthCheck
    private let logger: Logger
    private let told = Mutex<KafkaError.Code?>(nil)

    init(_ producer: KafkaProducer, check: HealthCheck, logger: Logger) {
        self.producer = producer
        self.check = check
        self.logger = logger
        // A broker that is away is no reason to refuse work: what is accepted waits in the database.
        check.set(ready: true, detail: "sending")
    }

    /// Tells what is new.
    func look() {
        let trouble = producer.trouble
        let isNew = told.withLock { told in
            defer { told = trouble?.error.code }
            return told != trouble?.error.code
        }
        check.set(ready: trouble?.stopsWork != true, detail: trouble?.description ?? "sending")
        guard isNew else { return }
        if let trouble {
            logger.error("the producer cannot send", metadata: ["reason": "\(trouble)"])
        } else {
            logger.notice("the producer sends again")
        }
    }
}
