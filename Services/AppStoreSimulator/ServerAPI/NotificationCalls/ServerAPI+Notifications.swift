import Foundation
import Hummingbird

extension ServerAPI {
    /// Get Notification History, Request a Test Notification and Get Test Notification Status.
    func addNotificationRoutes(to group: RouterGroup<ServerAPIContext>) {
        limited(group, .notificationHistory).post("v1/notifications/history") { request, context in
            try await notificationHistory(request, app: try context.caller())
        }
        limited(group, .requestTestNotification).post("v1/notifications/test") { _, context in
            let app = try context.caller()
            guard app.notificationURLs[environment] != nil else { throw APIError.serverNotificationURLNotFound }
            let token = try await store.change { state, now in
                state.notifyTest(app, environment: environment, now: now)
            }
            var json = JSONText()
            json.add("testNotificationToken", token)
            return APIAnswer.json(json.object)
        }
        limited(group, .testNotificationStatus).get("v1/notifications/test/{token}") { _, context in
            let app = try context.caller()
            let token = try context.pathPart("token")
            guard Self.isTestToken(token) else { throw APIError.invalidTestNotificationToken }
            let row = await store.read { state in
                state.testNotification(token, bundleId: app.bundleId, environment: environment)
            }
            // Until it was tried there is no status to tell.
            guard let row, !row.attempts.isEmpty else { throw APIError.testNotificationNotFound }
            return APIAnswer.json(Self.item(row))
        }
    }

    private func notificationHistory(_ request: Request, app: AppRecord) async throws -> Response {
        let now = store.clock.now
        let query = try NotificationHistoryQuery(try await APIBody.object(request), environment: environment, now: now)
        let token: PaginationToken? =
            if let text = request.uri.queryParameters.get("paginationToken") {
                try PaginationToken(text, now: now)
            } else {
                nil
            }
        let found = try await store.read { state in
            if let id = query.transactionId { _ = try state.customer(ofAny: id, app: app, environment: environment) }
            return state.notificationHistory(
                bundleId: app.bundleId, environment: environment, from: query.startDate, to: query.endDate - 1,
                type: query.type, subtype: query.subtype, transactionId: query.transactionId,
                onlyFailures: query.onlyFailures, after: token?.sequence ?? 0, limit: Limit.page + 1)
        }
        let page = found.prefix(Limit.page)
        let hasMore = found.count > page.count
        var json = JSONText()
        if hasMore, let last = page.last {
            json.add("paginationToken", PaginationToken(sequence: last.sequence, madeDate: now).text)
        }
        json.add("hasMore", hasMore)
        json.add("notificationHistory", json: "[\(page.map(Self.item).joined(separator: ","))]")
        return APIAnswer.json(json.object)
    }

    /// Apple's `notificationHistoryResponseItem`, which the status of a test notification looks like too.
    private static func item(_ row: NotificationRecord) -> String {
        let attempts = row.attempts.map { attempt in
            var json = JSONText()
            json.add("attemptDate", attempt.attemptDate)
            json.add("sendAttemptResult", attempt.sendAttemptResult)
            return json.object
        }
        var json = JSONText()
        json.add("signedPayload", row.signedPayload)
        json.add("firstSendAttemptResult", row.attempts.first?.sendAttemptResult)
        json.add("sendAttempts", json: "[\(attempts.joined(separator: ","))]")
        return json.object
    }

    /// A token is a UUID and an instant, such as `ce3af791-365e-4c60-841b-1674b43c1609_1656709971000`.
    private static func isTestToken(_ text: String) -> Bool {
        let parts = text.split(separator: "_", omittingEmptySubsequences: false)
        return parts.count == 2 && UUID(uuidString: String(parts[0])) != nil && Int64(parts[1]) != nil
    }
}
