import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import Testing

@testable import AppStoreSimulator

@Suite("verifyReceipt answers")
struct VerifyReceiptAnswerTests {
    /// A subscription of three periods, the last refunded, and a subscription record beside it.
    private static func subscribe(
        _ shop: ReceiptShop, _ change: @escaping @Sendable (inout SubscriptionRecord) -> Void = { _ in }
    ) async throws {
        try await shop.sell("201", "monthly", .autoRenewableSubscription) {
            $0.offer = .init(kind: .introductory, discount: .freeTrial, period: Period(1, .month))
        }
        try await shop.sell("202", "monthly", .autoRenewableSubscription, day: 30, original: "201") {
            $0.appAccountToken = "6f3ec6b5-0b0c-4b67-b0a7-9c4f1a5c1f00"
            $0.offer = .init(kind: .code, identifier: "SPRING", discount: .payUpFront, period: Period(1, .month))
        }
        try await shop.sell("203", "monthly", .autoRenewableSubscription, day: 60, original: "201") {
            $0.revocationDate = ReceiptShop.start + 61 * ReceiptShop.day
            $0.revocationReason = 1
        }
        var record = SubscriptionRecord(
            originalTransactionId: "201", bundleId: ReceiptShop.bundleId, subscriptionGroupIdentifier: "21000000",
            accountId: "alice", environment: .production, productId: "monthly", autoRenewProductId: "yearly",
            autoRenews: true, status: .active, recentSubscriptionStartDate: ReceiptShop.start,
            renewalDate: ReceiptShop.start + 90 * ReceiptShop.day, transactionId: "203", renewalPrice: 990,
            currency: "USD")
        change(&record)
        let made = record
        try await shop.store.change { state, _ in state.put(made) }
    }

    @Test("the receipt's fields, and dates in three ways")
    func receiptFields() async throws {
        let shop = try await ReceiptShop()
        try await shop.sell("101", "coins", .consumable) { $0.quantity = 3 }
        let answer = try await shop.verify(receipt: try await shop.receipt())
        let receipt = try #require(answer.fields["receipt"]?.map)
        #expect(receipt["receipt_type"]?.text == "Production")
        #expect(receipt["adam_id"]?.double == receipt["app_item_id"]?.double)
        #expect(receipt["bundle_id"]?.text == ReceiptShop.bundleId)
        #expect(receipt["application_version"]?.text == "42")
        let names = ["adam_id", "app_item_id", "download_id", "version_external_identifier"]
        for name in names { #expect((receipt[name]?.double ?? 0) > 0) }
        for name in ["receipt_creation_date", "request_date", "original_purchase_date"] {
            for suffix in ["", "_ms", "_pst"] { #expect(receipt[name + suffix]?.text != nil) }
        }
        #expect(receipt["original_application_version"]?.text == "42")
        let purchase = try #require(answer.inApp.first)
        let expected = [
            "quantity": "3", "product_id": "coins", "transaction_id": "101", "original_transaction_id": "101",
            "purchase_date": "2025-03-01 10:20:30 Etc/GMT", "purchase_date_ms": "1740824430000",
            "purchase_date_pst": "2025-03-01 02:20:30 America/Los_Angeles",
            "original_purchase_date": "2025-03-01 10:20:30 Etc/GMT", "original_purchase_date_ms": "1740824430000",
            "original_purchase_date_pst": "2025-03-01 02:20:30 America/Los_Angeles", "is_trial_period": "false",
            "in_app_ownership_type": "PURCHASED",
        ]
        #expect(purchase.compactMapValues(\.text) == expected)
        for name in ["latest_receipt", "latest_receipt_info", "pending_renewal_info"] {
            #expect(answer.fields[name] == nil, "no subscriptions, no \(name)")
        }
        await shop.store.close()
    }

    @Test("a subscription's transactions, newest first, and a fresh receipt")
    func latest() async throws {
        let shop = try await ReceiptShop()
        try await Self.subscribe(shop)
        try await shop.sell("204", "level", .nonConsumable, day: 10) { $0.isFamilyShared = true }
        let old = try await shop.receipt()
        try await shop.sell("205", "monthly", .autoRenewableSubscription, day: 90, original: "201")
        let answer = try await shop.verify(receipt: old)
        #expect(Set(answer.inApp.compactMap { $0["transaction_id"]?.text }) == ["201", "202", "203", "204"])
        #expect(answer.latest.compactMap { $0["transaction_id"]?.text } == ["205", "203", "202", "204", "201"])
        let (third, second, shared, first) = (answer.latest[1], answer.latest[2], answer.latest[3], answer.latest[4])
        #expect(first["is_trial_period"]?.text == "true")
        #expect(first["is_in_intro_offer_period"]?.text == "false")
        #expect(first["expires_date"]?.text == "2025-03-31 10:20:30 Etc/GMT")
        #expect(first["expires_date_pst"]?.text == "2025-03-31 03:20:30 America/Los_Angeles")
        #expect(first["web_order_line_item_id"]?.text == "1201")
        #expect(first["subscription_group_identifier"]?.text == "21000000")
        #expect(second["offer_code_ref_name"]?.text == "SPRING")
        #expect(second["app_account_token"]?.text == "6f3ec6b5-0b0c-4b67-b0a7-9c4f1a5c1f00")
        #expect(third["cancellation_date_ms"]?.text == String(ReceiptShop.start + 61 * ReceiptShop.day))
        #expect(third["cancellation_reason"]?.text == "1")
        #expect(second["cancellation_date"] == nil)
        #expect(shared["in_app_ownership_type"]?.text == "FAMILY_SHARED")
        let fresh = try #require(answer.fields["latest_receipt"]?.text)
        guard case .contents(let contents) = shop.receipts.reader.read(base64: fresh) else {
            Issue.record("the fresh receipt is not ours")
            return
        }
        #expect(contents.inAppPurchases.count == 5)
        guard case .contents(let before) = shop.receipts.reader.read(base64: old) else { return }
        #expect(contents.vendorIdentifier == before.vendorIdentifier)
        await shop.store.close()
    }

    @Test("exclude-old-transactions leaves the last transaction of each subscription")
    func excludingOld() async throws {
        let shop = try await ReceiptShop()
        try await Self.subscribe(shop)
        try await shop.sell("204", "level", .nonConsumable, day: 10)
        let answer = try await shop.verify(receipt: try await shop.receipt(), excludingOld: true)
        #expect(answer.latest.compactMap { $0["transaction_id"]?.text } == ["203", "204"])
        #expect(answer.inApp.count == 4)
        await shop.store.close()
    }

    @Test("a renewal to come")
    func pendingRenewal() async throws {
        let shop = try await ReceiptShop()
        try await Self.subscribe(shop)
        let answer = try await shop.verify(receipt: try await shop.receipt())
        let expected = [
            "auto_renew_product_id": "yearly", "product_id": "monthly", "original_transaction_id": "201",
            "auto_renew_status": "1",
        ]
        #expect(answer.pending.map { $0.compactMapValues(\.text) } == [expected])
        await shop.store.close()
    }

    @Test("a renewal that fails: billing retry, grace, price rise, offers")
    func failingRenewal() async throws {
        let shop = try await ReceiptShop()
        try await Self.subscribe(shop) {
            $0.status = .gracePeriod
            $0.autoRenews = false
            $0.expirationIntent = .billingError
            $0.gracePeriodExpiresDate = ReceiptShop.start
            $0.priceIncrease = .init(price: 1_990, needsConsent: true, hasConsent: false, effectiveDate: 0)
            $0.nextOffer = Offer(
                kind: .promotional, identifier: "WINTER", discount: .payUpFront, period: Period(1, .month),
                periodCount: 1, price: 490)
        }
        let answer = try await shop.verify(receipt: try await shop.receipt())
        let pending = try #require(answer.pending.first).compactMapValues(\.text)
        #expect(pending["auto_renew_status"] == "0")
        #expect(pending["is_in_billing_retry_period"] == "1")
        #expect(pending["expiration_intent"] == "2")
        #expect(pending["grace_period_expires_date_ms"] == String(ReceiptShop.start))
        #expect(pending["grace_period_expires_date_pst"] == "2025-03-01 02:20:30 America/Los_Angeles")
        #expect(pending["price_consent_status"] == "0")
        #expect(pending["price_increase_status"] == "0")
        #expect(pending["promotional_offer_id"] == "WINTER")
        await shop.store.close()
    }

    @Test("names with quotes and control characters are still JSON")
    func escaping() async throws {
        let shop = try await ReceiptShop()
        try await shop.sell("101", "a \"quoted\" \\ product\n", .nonConsumable)
        let answer = try await shop.verify(receipt: try await shop.receipt())
        #expect(answer.inApp.first?["product_id"]?.text == "a \"quoted\" \\ product\n")
        await shop.store.close()
    }
}
