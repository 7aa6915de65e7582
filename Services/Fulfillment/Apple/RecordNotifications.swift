import Foundation
import Logging
import Messages
import Metrics
import Persistence
import Postgres
import PurchaseModel
import ServiceRuntime

/// Writes down which notifications Apple sent, has them sent on where an app wants that, and takes refund requests.
struct RecordNotifications: Sendable {
    /// Apple's type of a refund request.
    static let refundRequest = "CONSUMPTION_REQUEST"
    /// Apple's type of what comes on request only.
    static let test = "TEST"

    let apps: CurrentApps
    let logger: Logger

    /// What is to be told after the commit.
    struct Recorded: Sendable {
        var refundRequests = 0
        var tests: [AppleNotificationStore.Notification] = []
    }

    /// Writes, in the transaction of the batch, after its orders.
    ///
    /// - Throws: `PostgresError`.
    func record(
        _ verdicts: [Judged], _ decided: Decided, on connection: PostgresConnection
    ) async throws -> Recorded {
        let notifications = verdicts.compactMap(Self.notification)
        guard !notifications.isEmpty else { return Recorded() }
        var unique: [String: AppleNotificationStore.Notification] = [:]
        for notification in notifications { unique["\(notification.app) \(notification.uuid)"] = notification }
        let new = try await AppleNotificationStore.record(Array(unique.values), on: connection)
        try await NotificationForwardStore.add(new.filter { apps.forwards($0.app) }, on: connection)
        var recorded = Recorded()
        recorded.tests = new.compactMap { unique["\($0.app) \($0.uuid)"] }.filter { $0.type == Self.test }
        recorded.refundRequests = try await AppleCallStore.ask(
            verdicts.flatMap { Self.requests($0, decided) }, on: connection)
        return recorded
    }

    /// Tells of what is committed: a TEST is for people who look whether it came.
    func tell(_ recorded: Recorded) {
        if recorded.refundRequests > 0 {
            Counter(label: "countersign_refund_requests_total").increment(by: recorded.refundRequests)
        }
        for test in recorded.tests {
            logger.info(
                "Apple's test notification came",
                metadata: .fields([.app: "\(test.app)", .environment: "\(test.environment.rawValue)"]))
        }
    }

    private static func notification(_ judged: Judged) -> AppleNotificationStore.Notification? {
        guard let kind = judged.verdict.notification, let environment = kind.environment, judged.poster == nil,
            !judged.verdict.isPartial
        else { return nil }
        return AppleNotificationStore.Notification(
            app: judged.app, uuid: kind.uuid.lowercased(), environment: environment, type: kind.type,
            subtype: kind.subtype, signedDate: kind.signedDate, submissionId: judged.verdict.submissionId)
    }

    private static func requests(_ judged: Judged, _ decided: Decided) -> [AppleCallStore.Request] {
        guard let kind = judged.verdict.notification, kind.type == refundRequest, judged.poster == nil,
            let signedDate = kind.signedDate
        else { return [] }
        return judged.transactions.filter { $0.bundleId == judged.app }.map { transaction in
            AppleCallStore.Request(
                order: decided.summaries[transaction.orderKey]?.key ?? transaction.orderKey,
                transactionId: transaction.transactionId, app: judged.app, requestedAt: signedDate,
                reason: kind.consumptionRequestReason)
        }
    }
}
