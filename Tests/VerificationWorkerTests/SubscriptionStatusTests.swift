import AppStoreServerAPI
import Foundation
import Messages
import NIOHTTP1
import PurchaseModel
import Testing

@testable import VerificationWorker

/// What Apple tells of a subscription beside the transaction that was asked about.
@Suite("Where a subscription stands", .enabled(if: Simulator.isThere, Simulator.missing))
struct SubscriptionStatusTests {
    @Test("An app may know the first transaction only: the period that was paid last comes with it")
    func latestPeriod() async throws {
        try await Stage.run { stage in
            try await stage.simulator.control(.PUT, "clock", "{\"now\":\"2026-06-01T10:00:00Z\",\"speed\":0}")
            let first = try await stage.simulator.subscribe(to: "subscriber")
            let alone = try await stage.finding(asked(first.transactionId))
            #expect(alone.transactions.map(\.transactionId) == [first.transactionId])
            try await stage.simulator.control(.POST, "clock/advance", "{\"by\":\"P75D\"}")
            let later = try await stage.finding(asked(first.transactionId))
            #expect(later.name == "genuine")
            #expect(later.claims.ids == nil, "all of it is the poster's")
            #expect(later.transactions.count == 2)
            let latest = try #require(later.transactions.last)
            #expect(later.transactions.first?.transactionId == first.transactionId)
            #expect(latest.originalTransactionId == first.originalTransactionId)
            #expect(latest.transactionReason == "RENEWAL")
            let renewal = try #require(later.renewals.first)
            #expect(renewal.renewalDate == latest.expiresDate, "they are of one period")
            #expect(
                SubscriptionStanding.derived(
                    from: later.transactions, renewal: renewal, at: latest.purchaseDate.addingTimeInterval(1))?.state
                    == .active)
            let itself = try await stage.finding(asked(latest.transactionId))
            #expect(itself.transactions.map(\.transactionId) == [latest.transactionId])
        }
    }

    @Test("What a sandbox purchase is marked as, its latest period is, too")
    func marked() async throws {
        try await Stage.run { stage in
            try await stage.simulator.control(.PUT, "clock", "{\"now\":\"2026-06-01T10:00:00Z\",\"speed\":0}")
            let first = try await stage.simulator.subscribe(to: "tester", environment: .sandbox)
            try await stage.simulator.control(.POST, "clock/advance", "{\"by\":\"P40D\"}")
            let finding = try await stage.finding(asked(first.transactionId), Setup(sandbox: "test"))
            #expect(finding.transactions.count == 2)
            #expect(finding.transactions.allSatisfy { $0.testPurchase == .sandbox && $0.environment == .sandbox })
        }
    }

    @Test("What comes after a commitment is read from the renewal info")
    func commitment() async throws {
        try await Stage.run { stage in
            let info = "data.signedRenewalInfo"
            let told = try await stage.simulator.notification(
                "DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED",
                override: """
                    {"\(info).autoRenewStatus":1,"\(info).renewalBillingPlanType":"MONTHLY",
                    "\(info).commitmentInfo.commitmentAutoRenewStatus":0,
                    "\(info).commitmentInfo.commitmentAutoRenewProductId":"silver",
                    "\(info).commitmentInfo.commitmentRenewalDate":1800000000000,
                    "\(info).commitmentInfo.commitmentRenewalPrice":59880,
                    "\(info).commitmentInfo.commitmentRenewalBillingPlanType":"MONTHLY"}
                    """)
            let renewal = try #require(try await stage.finding(notified(told.signedPayload)).renewals.first)
            #expect(renewal.willRenew == true)
            #expect(renewal.renewalBillingPlan == "MONTHLY")
            #expect(
                renewal.commitment
                    == RenewalStatement.Commitment(
                        willRenew: false, productId: "silver",
                        renewalDate: Date(timeIntervalSince1970: 1_800_000_000), priceMilliunits: 59_880,
                        billingPlan: "MONTHLY"))
        }
    }
}
