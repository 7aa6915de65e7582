import Kafka
import Logging
import ServiceRuntime
import Synchronization

/// A producer or a tail reader under a monitor's eyes.
final class WatchedClient: Sendable {
    /// What is said of it.
    struct Words {
        /// While all is well.
        let fine: String
        let fails: String
        let goesOn: String
    }

    private let trouble: @Sendable () -> KafkaTrouble?
    private let stopsReadiness: Bool
    private let words: Words
    private let check: HealthCheck
    private let logger: Logger
    private let told = Mutex<KafkaError.Code?>(nil)

    /// Watches whoever has these troubles.
    ///
    /// - Parameters:
    ///   - name: of the client, in `/readyz` and in the metric.
    ///   - stopsReadiness: whether the process has no business without it.
    init(
        _ name: String, words: Words, stopsReadiness: Bool, context: ServiceContext,
        trouble: @escaping @Sendable () -> KafkaTrouble?
    ) {
        self.trouble = trouble
        self.stopsReadiness = stopsReadiness
        self.words = words
        check = context.health.register(name)
        logger = context.logger
        // A broker that is away is no reason to refuse work: what is accepted waits in the database.
        check.set(ready: true, detail: words.fine)
        context.metrics.onScrape {
            [GaugeSample("countersign_kafka_client_failing", labels: [("client", name)], trouble() == nil ? 0 : 1)]
        }
    }

    /// Tells what is new.
    func look() {
        let trouble = trouble()
        let isNew = told.withLock { told in
            defer { told = trouble?.error.code }
            return told != trouble?.error.code
        }
        let isReady = !stopsReadiness || trouble?.stopsWork != true
        check.set(ready: isReady, detail: trouble?.description ?? words.fine)
        guard isNew else { return }
        if let trouble {
            logger.error("\(words.fails)", metadata: ["reason": "\(trouble)"])
        } else {
            logger.notice("\(words.goesOn)")
        }
    }
}
