import Foundation
import HTTPTypes
import Hummingbird
import ServiceLifecycle

/// Notifications as the control API shows them; external purchase tokens; and what a trigger plays.
struct NotificationRoutes: Sendable {
    enum Limit {
        /// Notifications in one answer: some 25 megabytes.
        static let count = 1_000
        /// In one answer when nobody says how many.
        static let usualCount = 100
        /// The longest that a request waits for something new, seconds.
        static let waitSeconds = 30
    }

    let store: Store

    func addRoutes(to group: RouterGroup<BasicRequestContext>) {
        group.get("notifications") { request, _ in try await list(request) }
        group.get("notifications/{uuid}") { _, context in
            let id = try context.parameters.require("uuid")
            guard let row = await store.read({ $0.notifications[id] }) else { throw Self.unknown(id) }
            return ControlAnswer.json(row.description)
        }
        group.delete("notifications") { request, _ in
            let bundleId = request.uri.queryParameters["bundleId"].map(String.init)
            let count = try await store.change { state, _ in state.removeNotifications(bundleId: bundleId) }
            return ControlAnswer.json("{\"deleted\":\(count)}")
        }
        group.post("notifications/{uuid}/resend") { _, context in
            let id = try context.parameters.require("uuid")
            let row = try await store.change { state, now in try state.resendNotification(id, now: now) }
            return ControlAnswer.json(row.description)
        }
        addTokenRoutes(to: group)
        TriggerRoutes(store: store).addRoutes(to: group)
    }

    private func addTokenRoutes(to group: RouterGroup<BasicRequestContext>) {
        group.post("external-purchase-tokens") { request, _ in
            let body = try await ControlBody.decode(TokenRequest.self, from: request)
            let record = try await store.change { state, now in
                try state.createExternalPurchase(try body.order(now: now), now: now)
            }
            return try ControlAnswer.encoded(record)
        }
        group.post("external-purchase-tokens/{id}/report") { _, context in
            let id = try context.parameters.require("id")
            return try ControlAnswer.encoded(
                try await store.change { state, _ in try state.reportExternalPurchase(id) })
        }
    }

    /// Notifications after one, oldest first; with `wait`, not before there is one or the time is over.
    private func list(_ request: Request) async throws -> Response {
        let query = request.uri.queryParameters
        let bundleId = query["bundleId"].map(String.init)
        let after = try Self.number(query["after"], "after", 0...Int.max, usual: 0)
        let limit = try Self.number(query["limit"], "limit", 0...Limit.count, usual: Limit.usualCount)
        let wait = try Self.number(query["wait"], "wait", 0...Limit.waitSeconds, usual: 0)
        let end = ContinuousClock.now + .seconds(wait)
        while true {
            let (rows, newest) = await store.read { state in
                (
                    state.notificationsInOrder(bundleId: bundleId, after: Int64(after), limit: limit),
                    state.newestNotification
                )
            }
            let rest = end - .now
            guard rows.isEmpty, limit > 0, rest > .zero, !Task.isShuttingDownGracefully else {
                var json = JSONText()
                json.add("notifications", json: "[\(rows.map(\.description).joined(separator: ","))]")
                json.add("newest", newest)
                return ControlAnswer.json(json.object)
            }
            await cancelWhenGracefulShutdown {
                await store.bell.wait(after: max(newest, Int64(after)), atMost: rest)
            }
        }
    }

    private static func number(
        _ text: Substring?, _ field: String, _ range: ClosedRange<Int>, usual: Int
    ) throws(Problem) -> Int {
        guard let text else { return usual }
        guard let number = Int(text), range.contains(number) else {
            throw Problem(.badRequest, "\(field): \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    static func unknown(_ id: String) -> Problem { Problem(.notFound, "no notification \(id)") }
}

/// The body of `POST external-purchase-tokens`.
private struct TokenRequest: Decodable, Sendable {
    var bundleId: String
    var environment: String?
    var tokenType: String?
    var expiresIn: SpanField?
    var remindEvery: SpanField?

    func order(now: Int64) throws(Problem) -> ExternalPurchaseOrder {
        let types = StoreState.ExternalPurchase.tokenTypes
        try FieldCheck.require(
            tokenType.map(types.contains) ?? true, "tokenType: one of \(types.joined(separator: ", "))")
        try FieldCheck.require(expiresIn == nil || tokenType != nil, "expiresIn: for a token with a tokenType")
        let interval = remindEvery.map { $0.added(to: now) - now }
        try FieldCheck.require((1...FieldCheck.Limit.instant).contains(interval ?? 1), "remindEvery: a span of time")
        return ExternalPurchaseOrder(
            bundleId: bundleId, environment: try FieldCheck.environment(environment), tokenType: tokenType,
            expirationDate: expiresIn?.added(to: now), reminderInterval: interval)
    }
}

extension NotificationRecord {
    /// As an element of an answer: JSON, with the payload decoded besides.
    var description: String {
        var json = JSONText()
        json.add("sequence", sequence)
        json.add("notificationUUID", notificationUUID)
        json.add("notificationType", notificationType)
        json.add("subtype", subtype)
        json.add("environment", environment.rawValue)
        json.add("bundleId", bundleId)
        json.add("transactionId", transactionId)
        json.add("originalTransactionId", originalTransactionId)
        json.add("createdDate", createdDate)
        json.add("signedPayload", signedPayload)
        json.add("payload", json: DecodedNotification.document(of: signedPayload)?.text ?? "null")
        let tries = attempts.map { attempt in
            var json = JSONText()
            json.add("attemptDate", attempt.attemptDate)
            json.add("sendAttemptResult", attempt.sendAttemptResult)
            return json.object
        }
        json.add("attempts", json: "[\(tries.joined(separator: ","))]")
        json.add("nextAttemptDate", nextAttemptDate)
        return json.object
    }
}

extension StoreState {
    /// Lets a notification be sent again now, whatever became of it.
    mutating func resendNotification(_ id: String, now: Int64) throws -> NotificationRecord {
        guard var row = notifications[id] else { throw NotificationRoutes.unknown(id) }
        guard apps[row.bundleId]?.notificationURLs[row.environment] != nil else {
            throw Problem(.conflict, "\(row.bundleId) has no notification URL for \(row.environment.rawValue)")
        }
        row.nextAttemptDate = now
        put(row)
        return row
    }

    /// Forgets the notifications of an app, or all.
    ///
    /// - Returns: how many.
    mutating func removeNotifications(bundleId: String?) -> Int {
        let keys =
            bundleId.map { bundleId in StoreEnvironment.allCases.map { Self.logKey(bundleId, $0) } }
            ?? Array(notificationLog.keys)
        let before = notifications.count
        for key in keys { removeOldestNotifications(notificationLog[key, default: []].count, of: key) }
        return before - notifications.count
    }
}
