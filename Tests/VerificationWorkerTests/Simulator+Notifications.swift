import AppStoreServerAPI
import Foundation
import NIOHTTP1
import Testing

/// A server notification as the simulator tells of it: signed, and decoded besides.
struct ToldNotification: Decodable, Sendable {
    struct Payload: Decodable, Sendable {
        let signedDate: Int64
        let data: Inner?
        let appData: AppInner?
    }

    struct Inner: Decodable, Sendable {
        let signedTransactionInfo: Transaction?
        let signedRenewalInfo: Renewal?
        let consumptionRequestReason: String?
    }

    struct AppInner: Decodable, Sendable {
        struct AppTransaction: Decodable, Sendable { let appTransactionId: String? }

        let signedAppTransactionInfo: AppTransaction?
    }

    /// The fields of a transaction that a notification's receiver looks at.
    struct Transaction: Decodable, Sendable {
        let transactionId: String
        let originalTransactionId: String
        let environment: String
        let signedDate: Int64
        let revocationDate: Int64?
        let revocationType: String?
        let revocationPercentage: Int64?
        let isUpgraded: Bool?
        let subscriptionGroupIdentifier: String?
        let transactionReason: String?
        let offerType: Int?
        let offerIdentifier: String?
        let offerDiscountType: String?
        let offerPeriod: String?
        let webOrderLineItemId: String?
        let appTransactionId: String?
    }

    /// The fields of renewal info that its receiver looks at.
    struct Renewal: Decodable, Sendable {
        let originalTransactionId: String
        let productId: String
        let autoRenewProductId: String?
        let autoRenewStatus: Int
        let expirationIntent: Int?
        let isInBillingRetryPeriod: Bool?
        let priceIncreaseStatus: Int?
        let gracePeriodExpiresDate: Int64?
        let offerType: Int?
        let offerIdentifier: String?
        let recentSubscriptionStartDate: Int64?
        let renewalDate: Int64?
        let renewalPrice: Int64?
        let currency: String?
        let signedDate: Int64
    }

    let notificationType: String
    let subtype: String?
    let notificationUUID: String
    let signedPayload: String
    let payload: Payload
}

extension Simulator {
    /// One of the notifications that can be asked for.
    struct TriggerName: Decodable, Sendable {
        let notificationType: String
        let subtype: String?
    }

    /// All notifications that can be asked for: every type with every subtype.
    func triggers() async throws -> [TriggerName] {
        struct Menu: Decodable { let triggers: [TriggerName] }
        return try await control(.GET, "trigger", as: Menu.self).triggers
    }

    /// Lets a notification come about by playing it, and returns it.
    ///
    /// - Parameters:
    ///   - override: JSON of paths and values, which are signed anew.
    ///   - isForced: for types that Apple does not have.
    func notification(
        _ type: String, _ subtype: String? = nil, in environment: AppStoreEnvironment = .production,
        override: String = "{}", isForced: Bool = false
    ) async throws -> ToldNotification {
        struct Play: Decodable { let notifications: [ToldNotification] }
        let subtypeField = subtype.map { ",\"subtype\":\"\($0)\"" } ?? ""
        let body = """
            {"notificationType":"\(type)"\(subtypeField),"bundleId":"\(SubmissionFixture.app)","force":\(isForced),
            "environment":"\(environment.rawValue)","override":\(override)}
            """
        let play = try await control(.POST, "trigger", body, as: Play.self)
        return try #require(
            play.notifications.last { $0.notificationType == type && (subtype == nil || $0.subtype == subtype) })
    }

    /// What stands in the e-mail to whoever bought.
    func orderId(of transactionId: String) async throws -> String {
        struct Answer: Decodable { let orderId: String }
        return try await control(.GET, "transactions/\(transactionId)", as: Answer.self).orderId
    }

    /// A product that renews every month.
    func addSubscription(_ productId: String = "gold") async throws {
        try await control(
            .PUT, "apps/\(SubmissionFixture.app)/products/\(productId)",
            "{\"type\":\"Auto-Renewable Subscription\",\"period\":\"P1M\",\"price\":4990,\"level\":1}")
    }

    /// Sells a subscription.
    func subscribe(
        _ productId: String = "gold", to account: String, environment: AppStoreEnvironment = .production
    ) async throws -> Sold {
        try await addSubscription(productId)
        return try #require(
            try await sell(productId, type: "Auto-Renewable Subscription", to: account, environment: environment).first)
    }
}
