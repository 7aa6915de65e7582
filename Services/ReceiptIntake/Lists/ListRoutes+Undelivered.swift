import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Persistence
import PurchaseModel
import ServiceRuntime

/// `GET /v1/undelivered` and `GET /v1/undelivered/reasons`.
extension ListRoutes {
    /// Tells what of an app is paid, or may be, and not delivered.
    ///
    /// - Throws: `ProblemDetails`, and what the parts throw.
    @inline(never)
    @Sendable
    func undelivered(_ request: Request, _ context: IntakeContext) async throws -> Response {
        let caller = try await backend(request, context)
        var selection = try Self.undeliveredSelection(request, of: caller)
        selection.stage = try ListQuery.choice("stage", in: request)
        selection.reason = try ListQuery.word("reason", in: request)
        let (place, limit) = (try Self.place(request), try ReadingQuery.limit(request))
        let (store, chosen) = (stores.undelivered, selection)
        context.tells(of: nil, in: selection.environment)
        let page = try await turns.take(for: caller) { try await store.page(chosen, after: place, limit: limit) }
        return try ReadingAnswer.response(
            ListAnswer(data: page.rows.map(UndeliveredAnswer.init), next: page.next.map(Self.cursor)))
    }

    /// Tells how much that is, by reason.
    ///
    /// - Throws: `ProblemDetails`, and what the parts throw.
    @inline(never)
    @Sendable
    func undeliveredReasons(_ request: Request, _ context: IntakeContext) async throws -> Response {
        let caller = try await backend(request, context)
        let selection = try Self.undeliveredSelection(request, of: caller)
        let store = stores.undelivered
        let groups = try await turns.take(for: caller) { try await store.groups(selection) }
        return try ReadingAnswer.response(ListAnswer(all: groups.map(UndeliveredReasonAnswer.init)))
    }

    private static func undeliveredSelection(
        _ request: Request, of caller: Caller
    ) throws -> UndeliveredListStore.Selection {
        var selection = UndeliveredListStore.Selection(app: caller.app)
        selection.environment = try ListQuery.environment(request, of: caller)
        if let age = try ListQuery.olderThan(request) { selection.olderThan = age }
        return selection
    }

    private static func place(_ request: Request) throws -> UndeliveredListStore.Place? {
        try ListCursor.position(request) { stage, rest in
            guard let stage = UndeliveredListStore.Stage(rawValue: stage) else { return nil }
            guard !rest.isEmpty else { return UndeliveredListStore.Place(stage: stage, position: nil) }
            guard let space = rest.firstIndex(of: " "),
                let position = ListQuery.position(
                    String(rest[..<space]), String(rest[rest.index(after: space)...]))
            else { return nil }
            return UndeliveredListStore.Place(stage: stage, position: position)
        }
    }

    private static func cursor(_ place: UndeliveredListStore.Place) -> String {
        let rest = place.position.map { "\($0.number) \($0.environment) \($0.id)" } ?? ""
        return ListCursor.text(place.stage.rawValue, rest)
    }
}

/// What is paid and not delivered: `Undelivered` in the OpenAPI document.
struct UndeliveredAnswer: Encodable, Sendable {
    let stage: String
    let environment: String?
    let reason: String
    let createdAt: Date
    let ageSeconds: Int64
    let account: String?
    let productId: String?
    let transactionId: String?
    let submissionId: String?
    let eventId: String?
    let purchaseDate: Date?

    enum CodingKeys: String, CodingKey {
        case stage, environment, reason, account
        case ageSeconds = "age_seconds"
        case productId = "product_id"
        case transactionId = "transaction_id"
        case submissionId = "submission_id"
        case eventId = "event_id"
        case createdAt = "created_at"
        case purchaseDate = "purchased_at"
    }

    init(_ row: UndeliveredListStore.Row) {
        let purchase = row.purchase
        (stage, environment, reason) = (row.stage.rawValue, purchase.environment, purchase.reason)
        (createdAt, ageSeconds, account) = (purchase.since, Int64(row.ageSeconds), purchase.account?.text)
        (productId, transactionId) = (purchase.productId, purchase.transactionId)
        (submissionId, eventId, purchaseDate) = (purchase.submissionId, row.eventId, purchase.purchaseDate)
    }
}

/// How much of it there is for one reason: `UndeliveredReason` in the OpenAPI document.
struct UndeliveredReasonAnswer: Encodable, Sendable {
    let stage: String
    let environment: StoreEnvironment?
    let reason: ReasonCode
    let count: Int64
    let isAtLeast: Bool
    let oldestAt: Date
    let oldestSeconds: Int64
    let needsSomebody: Bool

    enum CodingKeys: String, CodingKey {
        case stage, environment, reason, count
        case isAtLeast = "at_least"
        case oldestAt = "oldest_at"
        case oldestSeconds = "oldest_seconds"
        case needsSomebody = "needs_somebody"
    }

    init(_ group: UndeliveredListStore.Group) {
        (stage, environment, reason) = (group.stage.rawValue, group.environment, group.reason)
        (count, isAtLeast) = (group.count, group.isAtLeast)
        (oldestAt, oldestSeconds) = (group.oldest, Int64(group.oldestSeconds))
        needsSomebody = group.needsSomebody
    }
}
