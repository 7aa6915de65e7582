import AppStoreServerAPI
import Foundation
import NIOHTTP1
import PurchaseModel
import Testing

@testable import VerificationWorker

@Suite("What verifyReceipt's words become in ours")
struct PurchaseFieldsTests {
    private let now = Date(timeIntervalSince1970: 1_700_000_000)

    private func transaction(_ purchase: VerifyReceiptAnswer.Purchase) -> Transaction {
        Transaction(purchase, bundleId: SubmissionFixture.app, environment: .production, stated: now)
    }

    @Test("A refund is a revocation, with its reason")
    func refunded() {
        let refunded = transaction(
            .init(
                transactionId: "2", originalTransactionId: "1", productId: "gold", purchaseDate: now,
                cancellationDate: now, cancellationReason: "1", webOrderLineItemId: "77",
                subscriptionGroupIdentifier: "20000001"))
        #expect(refunded.revocationDate == now)
        #expect(refunded.revocationReason == 1)
        #expect(refunded.isUpgraded == nil)
        #expect(refunded.webOrderLineItemId == "77")
        #expect(refunded.subscriptionGroupId == "20000001")
    }

    @Test("An upgraded period is upgraded, and not revoked: signed transactions say so too")
    func upgraded() {
        let upgraded = transaction(
            .init(
                transactionId: "2", productId: "gold", purchaseDate: now, cancellationDate: now,
                cancellationReason: "0", isUpgraded: true))
        #expect(upgraded.isUpgraded == true)
        #expect(upgraded.revocationDate == nil)
        #expect(upgraded.revocationReason == nil)
        #expect(upgraded.evidence?.contains("\"cancellation_date_ms\":1700000000000") == true)
        // The receipt itself cannot tell the two apart.
        var stated = Transaction.fixture("2")
        stated.revocationDate = now
        #expect(stated.updated(by: upgraded).revocationDate == nil)
        #expect(stated.updated(by: upgraded).isUpgraded == true)
    }

    @Test("What verifyReceipt says of a receipt is no signed transaction, and ends no refund")
    func refundThatAReceiptDoesNotKnow() {
        var stated = Transaction.fixture("2")
        stated.productType = .consumable
        let told = stated.updated(
            by: transaction(
                .init(transactionId: "2", productId: "coins.100", purchaseDate: now, inAppOwnershipType: "PURCHASED")))
        #expect(told.productType == .consumable && told.ownership == "PURCHASED")
        var refunded = Transaction.fixture("2")
        refunded.productType = .consumable
        refunded.ownership = "PURCHASED"
        refunded.priceMilliunits = 990
        refunded.revocationDate = now
        refunded.signedDate = now - 60
        #expect(told.signedDate > refunded.signedDate)
        #expect(refunded.joined(with: told).revocationDate == now)
        #expect(told.joined(with: refunded).revocationDate == now)
    }

    @Test("Offers are told in the numbers of signed transactions")
    func offers() {
        func offer(_ promotional: String?, _ code: String?, _ isTrial: Bool, _ isIntroductory: Bool) -> ReceiptOffer {
            ReceiptOffer(promotional: promotional, code: code, isTrial: isTrial, isIntroductory: isIntroductory)
        }
        #expect(offer(nil, nil, false, false).type == nil)
        #expect(offer(nil, nil, true, false).type == 1)
        #expect(offer(nil, nil, true, false).discountType == "FREE_TRIAL")
        #expect(offer(nil, nil, false, true).type == 1)
        #expect(offer(nil, nil, false, true).discountType == nil)
        #expect(offer("LOYAL", nil, true, false).type == 2)
        #expect(offer("LOYAL", nil, true, false).identifier == "LOYAL")
        #expect(offer(nil, "GIFT", false, false).type == 3)
        #expect(offer(nil, "GIFT", false, false).identifier == "GIFT")
    }

    @Test("A pending renewal takes its product from the latest purchase when it names none")
    func pendingRenewal() throws {
        let purchases: [VerifyReceiptAnswer.Purchase] = [
            .init(transactionId: "2", originalTransactionId: "1", productId: "gold", purchaseDate: now + 60),
            .init(transactionId: "1", productId: "silver", purchaseDate: now),
            .init(transactionId: "9", productId: "coins", purchaseDate: now + 90),
        ]
        func renewal(_ pending: VerifyReceiptAnswer.PendingRenewal) -> RenewalStatement? {
            RenewalStatement(pending, among: purchases, environment: .sandbox, stated: now)
        }
        let known = try #require(
            renewal(
                .init(
                    originalTransactionId: "1", autoRenewProductId: "silver", willAutoRenew: true,
                    expirationIntent: "2", isInBillingRetryPeriod: true, gracePeriodExpiresDate: now + 10,
                    priceIncreaseStatus: "0")))
        #expect(known.productId == "gold")
        #expect(known.renewalProductId == "silver")
        #expect(known.willRenew == true)
        #expect(known.expirationIntent == 2)
        #expect(known.isInBillingRetry == true)
        #expect(known.gracePeriodExpiresDate == now + 10)
        #expect(known.priceIncreaseStatus == 0)
        #expect(known.signedDate == now)
        #expect(known.environment == .sandbox)
        #expect(renewal(.init(originalTransactionId: "5")) == nil)
        #expect(renewal(.init(originalTransactionId: "5", autoRenewProductId: "gold"))?.productId == "gold")
    }

    @Test(
        "A receipt's trial, its renewal's web order line and a subscription's group are told",
        .enabled(if: Simulator.isThere, Simulator.missing))
    func fromReceipts() async throws {
        try await Stage.run { stage in
            try await stage.simulator.control(
                .PUT, "apps/\(SubmissionFixture.app)/products/gold",
                """
                {"type":"Auto-Renewable Subscription","period":"P1M","price":4990,"level":1,
                "offers":[{"kind":"introductory","discount":"FREE_TRIAL","period":"P1W"}]}
                """)
            try await stage.simulator.control(
                .POST, "sales",
                """
                {"bundleId":"\(SubmissionFixture.app)","productId":"gold","account":"trial",
                "offer":{"kind":"introductory"}}
                """)
            let proof = try await stage.simulator.receipt(of: "trial")
            let offline = try #require(try await stage.finding(receipt(proof)).transactions.first)
            #expect(offline.offerType == 1)
            #expect(offline.offerDiscountType == "FREE_TRIAL")
            #expect(offline.webOrderLineItemId != nil)
            let asked = try await stage.finding(receipt(proof), Setup(receipts: "verify_receipt"))
            let stated = try #require(asked.transactions.first)
            #expect(stated.offerType == 1)
            #expect(stated.subscriptionGroupId != nil)
            #expect(stated.webOrderLineItemId == offline.webOrderLineItemId)
        }
    }
}
