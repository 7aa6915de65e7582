import AppStoreServerAPI
import Foundation
import NIOHTTP1
import Testing

/// Every call about purchases once, with what came of it.
@Suite(.serialized)
struct CallTests {
    @Test(.enabled(if: Simulator.isThere, Simulator.missing))
    func transactionsAndOrders() async throws {
        try await Simulator.run { store in
            struct Shown: Decodable { let orderId: String }
            let client = try await store.client()
            let sold = try #require(try await store.sell("coins").first)
            let id = sold.transactionId
            let info = try await client.transactionInfo(id, in: .production)
            let told: TransactionClaims = try claims(info.signedTransactionInfo)
            #expect(told == TransactionClaims(transactionId: id, productId: "coins", environment: "Production"))

            let order = try await store.control(.GET, "transactions/\(id)", as: Shown.self).orderId
            let found = try await client.lookUpOrder(order, in: .production)
            #expect(found.status == .valid && found.signedTransactions.count == 1)
            #expect(try await client.lookUpOrder("M000000000", in: .production).status == .invalid)

            let app = try await client.appTransactionInfo(of: id, in: .production)
            struct AppClaims: Decodable { let bundleId: String }
            #expect(try claims(app.signedAppTransactionInfo, as: AppClaims.self).bundleId == Simulator.bundleId)

            let token = UUID()
            try await client.setAppAccountToken(token, of: id, in: .production)
            let after = try await client.transactionInfo(id, in: .production)
            #expect(
                try claims(after.signedTransactionInfo, as: TransactionClaims.self).appAccountToken
                    == token.uuidString.lowercased())

            struct Finished: Decodable { let isFinished: Bool }
            try await client.finishTransaction(id, in: .production)
            #expect(try await store.control(.GET, "transactions/\(id)", as: Finished.self).isFinished)
        }
    }

    @Test(.enabled(if: Simulator.isThere, Simulator.missing))
    func consumption() async throws {
        struct Answers: Decodable {
            struct Answer: Decodable { let version: Int, transactionId: String, body: Body }
            struct Body: Decodable { let customerConsented: Bool, refundPreference: Value? }
            enum Value: Decodable, Equatable {
                case text(String), number(Int)
                init(from decoder: any Decoder) throws {
                    let value = try decoder.singleValueContainer()
                    self =
                        if let number = try? value.decode(Int.self) { .number(number) } else {
                            .text(try value.decode(String.self))
                        }
                }
            }
            let consumptionAnswers: [Answer]
        }
        try await Simulator.run { store in
            let client = try await store.client()
            let id = try #require(try await store.sell("coins").first).transactionId
            try await client.sendConsumption(
                ConsumptionRequest(
                    customerConsented: true, sampleContentProvided: false, deliveryStatus: .delivered,
                    consumptionPercentage: 25_000, refundPreference: .grantProrated), of: id, in: .production)
            var old = ConsumptionRequestV1(customerConsented: true, sampleContentProvided: true)
            old.consumptionStatus = .partiallyConsumed
            old.refundPreference = .preferDecline
            try await client.sendConsumptionV1(old, of: id, in: .production)
            let answers = try await store.control(.GET, "consumption-answers", as: Answers.self).consumptionAnswers
            #expect(answers.map(\.version) == [2, 1] && answers.allSatisfy { $0.transactionId == id })
            #expect(answers.map(\.body.refundPreference) == [.text("GRANT_PRORATED"), .number(2)])
        }
    }

    @Test(.enabled(if: Simulator.isThere, Simulator.missing))
    func subscriptions() async throws {
        try await Simulator.run { store in
            let client = try await store.client()
            let sold = try #require(
                try await store.sell("gold", type: "Auto-Renewable Subscription", more: ",\"storefront\":\"JPN\"").first
            )
            let id = sold.originalTransactionId
            let statuses = try await client.subscriptionStatuses(of: id, in: .production)
            let item = try #require(statuses.lastTransactions.first)
            #expect(item.status == .active && item.originalTransactionId == id && item.signedRenewalInfo != nil)
            let none = try await client.subscriptionStatuses(of: id, only: [.expired, .revoked], in: .production)
            #expect(none.lastTransactions.isEmpty && none.unreadableEntries == 0)

            let extended = try await client.extendRenewalDate(
                of: id,
                ExtendRenewalDateRequest(
                    extendByDays: 3, extendReasonCode: .serviceIssueOrOutage, requestIdentifier: "outage/1 é"),
                in: .production)
            #expect(extended.success && extended.originalTransactionId == id)
            #expect(try #require(extended.effectiveDate) > Date(timeIntervalSinceNow: 20 * 86_400))

            let request = MassExtendRenewalDateRequest(
                extendByDays: 1, extendReasonCode: .other, requestIdentifier: "all/1 é", productId: "gold",
                storefrontCountryCodes: ["JPN"])
            let taken = try await client.extendRenewalDates(request, in: .production)
            #expect(taken.requestIdentifier == "all/1 é")
            #expect(try await client.massExtensionStatus("all/1 é", of: "gold", in: .production).complete == false)
            try await store.control(.POST, "clock/advance", "{\"by\":\"1h\"}")
            let status = try await client.massExtensionStatus("all/1 é", of: "gold", in: .production)
            #expect(status.complete && status.succeededCount == 1 && status.failedCount == 0)
            #expect(status.completeDate != nil && status.requestIdentifier == "all/1 é")
        }
    }

    @Test(.enabled(if: Simulator.isThere, Simulator.missing))
    func testNotifications() async throws {
        try await Simulator.run { store in
            let client = try await store.client()
            let token = try await client.requestTestNotification(in: .sandbox)
            // What is to be sent has been sent when this answers.
            try await store.control(.POST, "clock/advance", "{\"by\":\"1m\"}")
            let status = try await client.testNotificationStatus(token, in: .sandbox)
            struct Notice: Decodable { let notificationType: NotificationTypeName }
            #expect(try claims(status.signedPayload, as: Notice.self).notificationType == .test)
            let attempt = try #require(status.sendAttempts.first)
            #expect(attempt.sendAttemptResult != .success)
        }
    }
}
