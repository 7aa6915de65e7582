import Logging
import Postgres
import ServiceLifecycle
import ServiceRuntime

/// Delivers: a loop in which what has ended is recorded (``DeliveryRecorder``) and what is due is claimed (``DeliveryClaimer``),
/// and beside it the attempts (``DeliveryAttempter``).
///
/// Every endpoint has room of its own, so that a slow one holds up nobody else. New events do not wait for the loop:
/// ``TakeOverEvents`` hands what it has leased to the ``queue``. Any number of processes may run it on one database.
final class DeliverWebhooks: Service {
    /// The sleep after the database failed.
    private static let failureDelay = Duration.seconds(1)

    /// Says what there is room for, and takes what is to be attempted.
    let queue: DeliveryQueue

    private let attempter: DeliveryAttempter
    /// As the loop begins with it.
    private let claimer: DeliveryClaimer
    private let recorder: DeliveryRecorder
    private let clients: EndpointClients
    private let timeout: Duration
    private let logger: Logger
    private let inbox = DeliveryInbox()
    private let clock = ContinuousClock()

    /// Makes the loop; it begins with ``run()``.
    init(
        pool: PostgresPool, endpoints: WebhookEndpoints, settings: DeliverySettings, clients: EndpointClients,
        metrics: DeliveryMetrics, version: String, logger: Logger
    ) {
        let report = AttemptReport(metrics: metrics, logger: logger)
        queue = DeliveryQueue(settings: settings, inbox: inbox, report: report)
        attempter = DeliveryAttempter(
            queue: queue, post: EndpointPost(clients: clients, timeout: settings.timeout, version: version),
            settings: settings, report: report)
        claimer = DeliveryClaimer(
            pool: pool, endpoints: endpoints, settings: settings, queue: queue, metrics: metrics, logger: logger)
        recorder = DeliveryRecorder(
            pool: pool, queue: queue, settings: settings, report: report, logger: logger)
        self.clients = clients
        timeout = settings.timeout
        self.logger = logger
    }

    /// Lets the loop see at once that there are other endpoints, and look for what is due to these.
    func wake(_ endpointIds: Set<String>) {
        queue.look(at: endpointIds)
        inbox.ring()
    }

    /// Delivers until graceful shutdown, which lets attempts under way end and records them; or until cancellation,
    /// which breaks them off: their leases run out, and they are made again.
    func run() async throws {
        await withGracefulShutdownHandler {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await self.attempter.run() }
                await self.deliver()
                self.queue.close()
            }
        } onGracefulShutdown: {
            self.queue.withBoard { $0.stop() }
            self.inbox.stop()
        }
        await clients.close()
    }

    private func deliver() async {
        var (claimer, recorder, dueDates) = (self.claimer, self.recorder, DueDates())
        var isStopping = false
        queue.withBoard { $0.start() }
        while !Task.isCancelled {
            // Before the news are taken: of a board that was idle all of them are there.
            let isIdle = queue.withBoard { $0.isIdle }
            let news = inbox.take()
            recorder.add(news.finished)
            if news.isStopping, !isStopping {
                // A board that was idle before it stopped may have given room since.
                isStopping = true
                continue
            }
            if !isStopping { claimer.follow(&dueDates) }
            if await recorder.gather(isIdle: isIdle) { continue }
            var wake = clock.now + Self.failureDelay
            do {
                try await recorder.record(&dueDates)
                if isStopping {
                    if isIdle { return }
                    wake = clock.now + timeout
                } else {
                    wake = try await claimer.round(&dueDates)
                }
            } catch {
                if Task.isCancelled { return }
                logger.warning("deliveries cannot be taken or recorded", metadata: .fields([.error: "\(error)"]))
                // With the database away there is nobody to record to: the leases bring the deliveries again.
                if isStopping, isIdle { return }
            }
            await inbox.wait(until: wake)
        }
    }
}
