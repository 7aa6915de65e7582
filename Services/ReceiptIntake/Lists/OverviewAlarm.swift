import Foundation
import Persistence
import PurchaseModel

/// Something that a person has to look at, with the page of the runbook that says what to do.
///
/// It is `OverviewAlarm` in the OpenAPI document.
struct OverviewAlarm: Encodable, Sendable {
    /// What kind of trouble it is.
    enum Code: String, Encodable, Sendable, CaseIterable {
        case submissionsAlarmed = "submissions_alarmed"
        case ordersParked = "orders_parked"
        /// They wait for their buyers.
        case ordersUnclaimed = "orders_unclaimed"
        case webhooksAbandoned = "webhooks_abandoned"
        case endpointDisabled = "endpoint_disabled"
        case refundRequestsDue = "refund_requests_due"

        /// A page of deploy/monitoring/runbook; nil where nobody has to do anything.
        var runbook: String? {
            switch self {
            case .submissionsAlarmed: "CountersignSubmissionAlarm"
            case .ordersParked: "CountersignPurchasesParked"
            case .ordersUnclaimed: nil
            case .webhooksAbandoned: "CountersignWebhooksAbandoned"
            case .endpointDisabled: "CountersignEndpointDisabled"
            case .refundRequestsDue: "CountersignRefundRequestUnanswered"
            }
        }
    }

    let code: Code
    let reason: ReasonCode?
    let endpoint: String?
    let count: Int64
    let isAtLeast: Bool
    let oldestAt: Date?
    let runbook: String?

    enum CodingKeys: String, CodingKey {
        case code, reason, endpoint, count, runbook
        case isAtLeast = "at_least"
        case oldestAt = "oldest_at"
    }

    private init(
        _ code: Code, reason: ReasonCode? = nil, endpoint: String? = nil, count: Int64, isAtLeast: Bool = false,
        oldestAt: Date?
    ) {
        (self.code, self.reason, self.endpoint) = (code, reason, endpoint)
        (self.count, self.isAtLeast, self.oldestAt) = (count, isAtLeast, oldestAt)
        runbook = code.runbook
    }

    /// Submissions that are too old without an outcome; nil where none is.
    init?(_ waiting: OverviewStore.Waiting) {
        guard waiting.alarmed > 0 else { return nil }
        self.init(
            .submissionsAlarmed, reason: waiting.reason, count: waiting.alarmed,
            isAtLeast: waiting.count >= Int64(OverviewStore.Limit.submissions), oldestAt: waiting.oldestAlarmed)
    }

    /// Orders that are held; what is undecided or untold is told elsewhere.
    init?(_ group: UndeliveredListStore.Group) {
        guard group.stage == .parked else { return nil }
        self.init(
            group.needsSomebody ? .ordersParked : .ordersUnclaimed, reason: group.reason, count: group.count,
            isAtLeast: group.isAtLeast, oldestAt: group.oldest)
    }

    /// That an endpoint is off, and that webhooks to it were given up.
    static func alarms(_ endpoint: OverviewStore.Endpoint) -> [OverviewAlarm] {
        var alarms: [OverviewAlarm] = []
        if let disabledAt = endpoint.disabledAt {
            alarms.append(
                OverviewAlarm(.endpointDisabled, endpoint: endpoint.id, count: endpoint.pending, oldestAt: disabledAt))
        }
        if endpoint.abandoned > 0 {
            alarms.append(
                OverviewAlarm(
                    .webhooksAbandoned, endpoint: endpoint.id, count: endpoint.abandoned,
                    isAtLeast: endpoint.isAtLeast, oldestAt: endpoint.oldestAbandoned))
        }
        return alarms
    }

    /// That refund requests are to be answered.
    static func alarms(_ requests: OverviewStore.RefundRequests) -> [OverviewAlarm] {
        guard requests.count > 0 else { return [] }
        return [
            OverviewAlarm(
                .refundRequestsDue, count: requests.count,
                isAtLeast: requests.count >= Int64(OverviewStore.Limit.requests), oldestAt: requests.oldest)
        ]
    }
}
