import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Persistence
import PurchaseModel
import ServiceRuntime

/// `GET /v1/overview`.
extension ListRoutes {
    /// Tells how an app stands.
    ///
    /// - Throws: `ProblemDetails`, and what the parts throw.
    @inline(never)
    @Sendable
    func overview(_ request: Request, _ context: IntakeContext) async throws -> Response {
        let caller = try await backend(request, context)
        let environment = try ReadingQuery.environment(request)
        let routes = self
        let overview = try await turns.take(for: caller) { try await routes.overview(caller.app, environment) }
        return try ReadingAnswer.response(overview)
    }

    @inline(never)
    private func overview(_ app: String, _ environment: StoreEnvironment) async throws -> OverviewAnswer {
        var selection = UndeliveredListStore.Selection(app: app)
        selection.environment = environment
        let store = stores.overview
        return OverviewAnswer(
            app: app, environment: environment, undelivered: try await stores.undelivered.groups(selection),
            minutes: try await store.minutes(app, environment), notifications: try await store.lastNotifications(app),
            endpoints: try await store.endpoints(app), waiting: try await store.waiting(app),
            requests: try await store.refundRequests(app))
    }
}

/// How an app stands: `Overview` in the OpenAPI document.
struct OverviewAnswer: Encodable, Sendable {
    let app: String
    let environment: StoreEnvironment
    let at: Date
    let undelivered: Undelivered
    let purchases: Purchases
    let notifications: [Notification]
    let webhooks: [Endpoint]
    let submissions: Submissions
    let alarms: [OverviewAlarm]

    /// What is paid and not delivered.
    struct Undelivered: Encodable, Sendable {
        let count: Int64
        let needsSomebody: Int64
        let isAtLeast: Bool
        let oldestAt: Date?

        enum CodingKeys: String, CodingKey {
            case count
            case needsSomebody = "needs_somebody"
            case isAtLeast = "at_least"
            case oldestAt = "oldest_at"
        }

        init(_ groups: [UndeliveredListStore.Group]) {
            count = groups.reduce(0) { $0 + $1.count }
            needsSomebody = groups.reduce(0) { $0 + ($1.needsSomebody ? $1.count : 0) }
            isAtLeast = groups.contains(where: \.isAtLeast)
            oldestAt = groups.map(\.oldest).min()
        }
    }

    /// Purchases of the last hour.
    struct Purchases: Encodable, Sendable {
        let lastHour: Int64
        let isAtLeast: Bool
        let minutes: [Minute]

        enum CodingKeys: String, CodingKey {
            case minutes
            case lastHour = "last_hour"
            case isAtLeast = "at_least"
        }

        init(_ minutes: [OverviewStore.Minute]) {
            self.minutes = minutes.map { Minute(at: $0.at, purchases: $0.purchases) }
            lastHour = minutes.reduce(0) { $0 + $1.purchases }
            isAtLeast = lastHour >= Int64(OverviewStore.Limit.purchases)
        }
    }

    /// One minute.
    struct Minute: Encodable, Sendable {
        let at: Date
        let purchases: Int64
    }

    /// The last notification of an environment.
    struct Notification: Encodable, Sendable {
        let environment: StoreEnvironment
        let type: String
        let at: Date
    }

    /// An endpoint of webhooks.
    struct Endpoint: Encodable, Sendable {
        let endpoint: String
        let enabled: Bool
        let disabledAt: Date?
        let disabledReason: String?
        let failingSince: Date?
        let pending: Int64
        let abandoned: Int64
        let isAtLeast: Bool
        let oldestPendingAt: Date?
        let oldestAbandonedAt: Date?

        enum CodingKeys: String, CodingKey {
            case endpoint, enabled, pending, abandoned
            case disabledAt = "disabled_at"
            case disabledReason = "disabled_reason"
            case failingSince = "failing_since"
            case isAtLeast = "at_least"
            case oldestPendingAt = "oldest_pending_at"
            case oldestAbandonedAt = "oldest_abandoned_at"
        }

        init(_ found: OverviewStore.Endpoint) {
            (endpoint, enabled) = (found.id, found.disabledAt == nil)
            (disabledAt, disabledReason) = (found.disabledAt, found.disabledReason)
            (failingSince, isAtLeast) = (found.failingSince, found.isAtLeast)
            (pending, abandoned) = (found.pending, found.abandoned)
            (oldestPendingAt, oldestAbandonedAt) = (found.oldestPending, found.oldestAbandoned)
        }
    }

    /// Submissions without an outcome.
    struct Submissions: Encodable, Sendable {
        let waiting: Int64
        let isAtLeast: Bool
        let oldestAt: Date?

        enum CodingKeys: String, CodingKey {
            case waiting
            case isAtLeast = "at_least"
            case oldestAt = "oldest_at"
        }

        init(_ reasons: [OverviewStore.Waiting]) {
            waiting = reasons.reduce(0) { $0 + $1.count }
            isAtLeast = waiting >= Int64(OverviewStore.Limit.submissions)
            oldestAt = reasons.map(\.oldest).min()
        }
    }

    init(
        app: String, environment: StoreEnvironment, undelivered groups: [UndeliveredListStore.Group],
        minutes: [OverviewStore.Minute], notifications: [OverviewStore.LastNotification],
        endpoints: [OverviewStore.Endpoint], waiting: [OverviewStore.Waiting], requests: OverviewStore.RefundRequests
    ) {
        (self.app, self.environment, at) = (app, environment, Date())
        undelivered = Undelivered(groups)
        purchases = Purchases(minutes)
        self.notifications = notifications.map {
            Notification(environment: $0.environment, type: $0.type, at: $0.recordedAt)
        }
        webhooks = endpoints.map(Endpoint.init)
        submissions = Submissions(waiting)
        alarms =
            waiting.compactMap(OverviewAlarm.init) + groups.compactMap(OverviewAlarm.init)
            + endpoints.flatMap(OverviewAlarm.alarms) + OverviewAlarm.alarms(requests)
    }
}
