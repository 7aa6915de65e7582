import HTTPTypes
import Hummingbird
import HummingbirdCore
import Persistence
import PurchaseModel
import ServiceRuntime

/// `GET /v1/subscription-figures`.
extension ListRoutes {
    /// Tells how an app's subscriptions stand, and how many began, went on and ended in some days.
    ///
    /// - Throws: `ProblemDetails`, and what the parts throw.
    @inline(never)
    @Sendable
    func subscriptionFigures(_ request: Request, _ context: IntakeContext) async throws -> Response {
        let caller = try await backend(request, context)
        let (from, to) = try Self.days(of: request)
        let environment = try ReadingQuery.environment(request)
        let grouping = try ListQuery.choice("by", in: request, as: SubscriptionFiguresStore.Grouping.self) ?? .day
        let store = stores.subscriptionFigures
        let answer = try await takeLongTurn(caller) {
            SubscriptionFiguresAnswer(
                app: caller.app, environment: environment, from: from, to: to, by: grouping,
                states: try await store.stateCounts(caller.app, environment),
                changes: try await store.changes(caller.app, environment, from: from, to: to, by: grouping))
        }
        return try ReadingAnswer.response(answer)
    }
}

/// How subscriptions stand and change: `SubscriptionFigures` in the OpenAPI document.
struct SubscriptionFiguresAnswer: Encodable, Sendable {
    /// `SubscriptionStateCount`.
    struct State: Encodable, Sendable {
        let productId: String
        let state: SubscriptionState
        let count: Int64

        enum CodingKeys: String, CodingKey {
            case state, count
            case productId = "product_id"
        }
    }

    /// `SubscriptionChanges`.
    struct Row: Encodable, Sendable {
        private(set) var day: String?
        private(set) var month: String?
        private(set) var productId: String?
        private(set) var started: Int64 = 0
        private(set) var renewed: Int64 = 0
        private(set) var returned: Int64 = 0
        private(set) var ended: Int64 = 0

        enum CodingKeys: String, CodingKey {
            case day, month, started, renewed, returned, ended
            case productId = "product_id"
        }

        init(_ changes: SubscriptionFiguresStore.Changes, by grouping: SubscriptionFiguresStore.Grouping) {
            switch grouping {
            case .day: day = changes.key
            case .month: month = changes.key
            case .product: productId = changes.key
            }
            add(changes)
        }

        init(totalOf all: [SubscriptionFiguresStore.Changes]) {
            for changes in all { add(changes) }
        }

        private mutating func add(_ changes: SubscriptionFiguresStore.Changes) {
            started += changes.started
            renewed += changes.renewed
            returned += changes.returned
            ended += changes.ended
        }
    }

    let app: String
    let environment: StoreEnvironment
    let from: RevenueDay
    let to: RevenueDay
    let by: String
    let states: [State]
    let rows: [Row]
    let totals: Row

    init(
        app: String, environment: StoreEnvironment, from: RevenueDay, to: RevenueDay,
        by grouping: SubscriptionFiguresStore.Grouping, states: [SubscriptionFiguresStore.StateCount],
        changes: [SubscriptionFiguresStore.Changes]
    ) {
        (self.app, self.environment, self.from, self.to, by) = (app, environment, from, to, grouping.rawValue)
        self.states = states.map { State(productId: $0.productId, state: $0.state, count: $0.count) }
        rows = changes.map { Row($0, by: grouping) }
        totals = Row(totalOf: changes)
    }
}
