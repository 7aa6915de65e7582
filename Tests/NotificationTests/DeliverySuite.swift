import Logging
import Persistence
import ServiceLifecycle
import ServiceRuntime
import WebhookSigning

@testable import Notification

/// What the suites about delivering have in common.
protocol DeliverySuite {
    var secret: WebhookSecret { get }
}

extension DeliverySuite {
    func endpoint(_ port: Int, id: String = "backend", events: [String] = []) throws -> WebhookEndpoint {
        try WebhookEndpoint(
            .init(
                id: id, url: "http://127.0.0.1:\(port)/\(id)", secrets: [Redacted(secret.reveal())], events: events,
                allowsPrivateAddresses: true), path: "test")
    }

    func settings(_ delays: [Duration] = [.seconds(60)]) -> DeliverySettings {
        var settings = DeliverySettings()
        settings.schedule = RetrySchedule(delays: delays)
        return settings
    }

    func loop(
        _ database: TestDatabase, _ endpoints: [WebhookEndpoint], _ settings: DeliverySettings
    ) -> DeliverWebhooks {
        loop(database, WebhookEndpoints(endpoints), settings)
    }

    func loop(
        _ database: TestDatabase, _ endpoints: WebhookEndpoints, _ settings: DeliverySettings
    ) -> DeliverWebhooks {
        DeliverWebhooks(
            pool: database.pool, endpoints: endpoints, settings: settings,
            clients: EndpointClients(connectionsMaximum: settings.concurrencyPerEndpoint),
            metrics: DeliveryMetrics(), version: "test",
            logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
    }

    /// Runs loops until the body has seen what it wants, then stops them gracefully: everything is recorded then.
    func running(_ loops: [DeliverWebhooks], until body: @Sendable () async throws -> Void) async throws {
        let logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
        let group = ServiceGroup(services: loops, logger: logger)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            try await body()
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
    }

    /// Writes events and takes them over, each twice; without a loop there is room for no attempt.
    func takeOver(
        _ database: TestDatabase, _ ids: [String], type: String = "iap.transaction.fulfilled",
        _ endpoints: [WebhookEndpoint], by loop: DeliverWebhooks? = nil
    ) async throws {
        try await database.insertEvents(ids, type: type)
        let queue = loop?.queue ?? DeliveryQueue(settings: settings(), inbox: DeliveryInbox())
        let events = ids.map { event($0, type: type) }
        try await takeOver(database, events + events, endpoints, queue)
    }

    func takeOver(
        _ database: TestDatabase, _ events: [TakeOverEvents.Event], _ endpoints: [WebhookEndpoint],
        _ queue: DeliveryQueue, lease: Duration = .seconds(60)
    ) async throws {
        let store = DeliveryStore(pool: database.pool)
        try await TakeOverEvents(store: store, endpoints: WebhookEndpoints(endpoints), queue: queue, lease: lease)
            .takeOver(events)
    }

    /// An event as Kafka brings it; its body is what `TestDatabase.insertEvents` writes, unless it is another.
    func event(
        _ id: String, type: String = "iap.transaction.fulfilled", body: String? = nil, traceParent: String? = nil
    ) -> TakeOverEvents.Event {
        (
            summary: EventSummary(id: id, type: type, app: "com.example.game", environment: "production"),
            body: Array((body ?? #"{"id":"\#(id)","name":"Zoë"}"#).utf8), traceParent: traceParent
        )
    }

    /// Returns once the loop has looked for what was due and has room for new events to these endpoints.
    func waitForRoom(_ loop: DeliverWebhooks, _ endpointIds: [String] = ["backend"]) async throws {
        try await waitUntil {
            let hasRoom = loop.queue.reserve(endpointIds)
            loop.queue.giveBack(zip(endpointIds, hasRoom).filter(\.1).map(\.0))
            return !hasRoom.contains(false)
        }
    }
}
