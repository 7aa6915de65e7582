import Foundation
import Testing

@testable import AppStoreServerAPI

/// Reads a text as the body of an answer.
func verifyReceiptAnswer(
    _ json: String, from environment: AppStoreEnvironment = .production
) throws -> VerifyReceiptAnswer {
    try VerifyReceiptAnswer(
        reading: Data(json.utf8), httpStatus: 200, from: environment, hasSentSharedSecret: false)
}

/// An answer about an app's receipt: `in_app`, and what stands beside `receipt`.
func verifyReceiptJSON(inApp: String, _ more: String = "", status: String = "0") -> String {
    #"{"environment":"Production","status":\#(status),"receipt":{"receipt_type":"Production","adam_id":7,"#
        + #""bundle_id":"com.example.game","receipt_creation_date_ms":"1521217159000","in_app":\#(inApp)}\#(more)}"#
}

/// An entry of a transaction.
func entry(_ id: String, _ more: String = "") -> String {
    #"{"quantity":"1","product_id":"coins","transaction_id":"\#(id)","purchase_date_ms":"1521150082000"\#(more)}"#
}

/// The shapes of answers that Apple has sent since 2009, as its pages and people's complaints show them.
@Suite("verifyReceipt: the shapes of answers")
struct VerifyReceiptShapeTests {
    @Test("an app's receipt, field by field")
    func appReceipt() throws {
        let json = """
            {"status":0,"environment":"Sandbox","receipt":{"receipt_type":"ProductionSandbox","adam_id":0,
            "app_item_id":0,"bundle_id":"com.example.game","application_version":"1","download_id":null,
            "version_external_identifier":0,"receipt_creation_date":"2018-03-16 16:19:19 Etc/GMT",
            "receipt_creation_date_ms":"1521217159000",
            "receipt_creation_date_pst":"2018-03-16 09:19:19 America/Los_Angeles",
            "request_date_ms":"1521223062824","original_purchase_date_ms":"1375340400000",
            "original_application_version":"1.0","in_app":[{"quantity":"2","product_id":"gold.month",
            "transaction_id":"1000000383177902","original_transaction_id":"1000000383177900",
            "purchase_date":"2018-03-15 21:41:22 Etc/GMT","purchase_date_ms":"1521150082000",
            "original_purchase_date_ms":"1521150083000","expires_date_ms":"1521150382000",
            "web_order_line_item_id":"1000000038079480","is_trial_period":"true","is_in_intro_offer_period":"false",
            "cancellation_date_ms":"1521150200500","cancellation_reason":"1","promotional_offer_id":"spring",
            "in_app_ownership_type":"FAMILY_SHARED"}]},"latest_receipt":"AAAA","latest_receipt_info":[
            {"quantity":"1","product_id":"gold.month","transaction_id":"1000000383177999",
            "original_transaction_id":"1000000383177900","purchase_date_ms":"1521150382000",
            "subscription_group_identifier":"20300000","is_upgraded":"true","offer_code_ref_name":"fans",
            "app_account_token":"7e3fb20b-4cdb-47cc-936d-99d65f608138"}],"pending_renewal_info":[
            {"auto_renew_product_id":"gold.year","product_id":"gold.month","original_transaction_id":"1000000383177900",
            "auto_renew_status":"1","expiration_intent":"2","is_in_billing_retry_period":"1",
            "grace_period_expires_date_ms":"1521160382000","price_consent_status":"0"}]}
            """
        let answer = try verifyReceiptAnswer(json, from: .sandbox)
        #expect(answer.status == .valid && answer.environment == .sandbox && answer.finding(attempt: 1) == .valid)
        #expect(
            answer.receipt
                == .init(
                    bundleId: "com.example.game", appAppleId: 0, environment: EnvironmentName(rawValue: "Sandbox"),
                    type: "ProductionSandbox", creationDate: Date(timeIntervalSince1970: 1_521_217_159),
                    requestDate: Date(timeIntervalSince1970: 1_521_223_062.824), applicationVersion: "1",
                    originalApplicationVersion: "1.0",
                    originalPurchaseDate: Date(timeIntervalSince1970: 1_375_340_400)))
        #expect(
            answer.purchases == [
                .init(
                    transactionId: "1000000383177902", originalTransactionId: "1000000383177900",
                    productId: "gold.month", quantity: 2, purchaseDate: Date(timeIntervalSince1970: 1_521_150_082),
                    originalPurchaseDate: Date(timeIntervalSince1970: 1_521_150_083),
                    expiresDate: Date(timeIntervalSince1970: 1_521_150_382),
                    cancellationDate: Date(timeIntervalSince1970: 1_521_150_200.5), cancellationReason: "1",
                    webOrderLineItemId: "1000000038079480", inAppOwnershipType: "FAMILY_SHARED", isTrialPeriod: true,
                    promotionalOfferId: "spring"),
                .init(
                    transactionId: "1000000383177999", originalTransactionId: "1000000383177900",
                    productId: "gold.month", purchaseDate: Date(timeIntervalSince1970: 1_521_150_382),
                    isUpgraded: true, appAccountToken: UUID(uuidString: "7E3FB20B-4CDB-47CC-936D-99D65F608138"),
                    subscriptionGroupIdentifier: "20300000", offerCodeRefName: "fans", isInReceipt: false),
            ])
        #expect(
            answer.pendingRenewals == [
                .init(
                    originalTransactionId: "1000000383177900", productId: "gold.month",
                    autoRenewProductId: "gold.year", willAutoRenew: true, expirationIntent: "2",
                    isInBillingRetryPeriod: true,
                    gracePeriodExpiresDate: Date(timeIntervalSince1970: 1_521_160_382), priceIncreaseStatus: "0")
            ])
        #expect(answer.unreadablePurchases == 0 && !answer.mayHide("5"))
    }

    @Test("a receipt of a single transaction, expired or not (iOS 6 style)", arguments: ["0", "21006"])
    func singleTransaction(status: String) throws {
        let latest = status == "0" ? "latest_receipt_info" : "latest_expired_receipt_info"
        let transaction = """
            "quantity":"1","unique_vendor_identifier":"6D2","bvrs":"2","bid":"com.example.game","item_id":"15",
            "app_item_id":"77","expires_date":"1584707227636","expires_date_formatted":"2020-03-20 12:27:07 Etc/GMT",
            "purchase_date":"2020-03-20 11:27:07 Etc/GMT","purchase_date_ms":"1584703627636",
            "original_purchase_date_ms":"1584519105000","original_transaction_id":"100735","transaction_id":"100439",
            "product_id":"gold.month","web_order_line_item_id":"100419","is_trial_period":"false"
            """
        let json = """
            {"auto_renew_status":0,"auto_renew_product_id":"gold.year","status":\(status),"receipt":{\(transaction)},
            "\(latest)":{\(transaction),"cancellation_date_ms":"1584703999000"}}
            """
        let answer = try verifyReceiptAnswer(json)
        #expect(answer.finding(attempt: 1) == .valid)
        #expect(
            answer.receipt
                == .init(
                    bundleId: "com.example.game", appAppleId: 77, applicationVersion: "2", isSingleTransaction: true))
        #expect(
            answer.purchases == [
                .init(
                    transactionId: "100439", originalTransactionId: "100735", productId: "gold.month",
                    purchaseDate: Date(timeIntervalSince1970: 1_584_703_627.636),
                    originalPurchaseDate: Date(timeIntervalSince1970: 1_584_519_105),
                    expiresDate: Date(timeIntervalSince1970: 1_584_707_227.636),
                    cancellationDate: Date(timeIntervalSince1970: 1_584_703_999), webOrderLineItemId: "100419")
            ])
        #expect(
            answer.pendingRenewals == [
                .init(originalTransactionId: "100735", autoRenewProductId: "gold.year", willAutoRenew: false)
            ])
    }

    @Test("numbers and flags as such, in texts, or missing")
    func loose() throws {
        let json = verifyReceiptJSON(
            inApp: #"[{"quantity":3,"product_id":"coins","transaction_id":2000000123456789,"purchase_date_ms":5000,"#
                + #""is_upgraded":1,"is_trial_period":true,"cancellation_date":null,"expires_date":"","x":{"y":[1e999]}}]"#,
            status: #""0""#)
        let answer = try verifyReceiptAnswer(json)
        #expect(
            answer.purchases == [
                .init(
                    transactionId: "2000000123456789", productId: "coins", quantity: 3,
                    purchaseDate: Date(timeIntervalSince1970: 5), isUpgraded: true, isTrialPeriod: true)
            ])
        let alone = try verifyReceiptAnswer(verifyReceiptJSON(inApp: entry("1")))
        #expect(alone.purchases.map(\.transactionId) == ["1"])
        for none in ["null", "[]"] {
            let empty = try verifyReceiptAnswer(verifyReceiptJSON(inApp: none))
            #expect(empty.purchases.isEmpty && empty.unreadablePurchases == 0 && empty.finding(attempt: 1) == .valid)
        }
        #expect(try verifyReceiptAnswer(#"{"status":0,"receipt":{}}"#).receipt?.bundleId == nil)
    }

    @Test(
        "a date in any of its ways",
        arguments: [
            (#""expires_date_ms":"1415805033000""#, 1_415_805_033.0),
            (#""expires_date_ms":1415805033000"#, 1_415_805_033),
            (#""expires_date":"2014-11-12 15:10:33 Etc/GMT""#, 1_415_805_033),
            (#""expires_date":"1415805033000","expires_date_formatted":"2014-11-12 15:10:34 Etc/GMT""#, 1_415_805_033),
            (#""expires_date_formatted":"2014-11-12 15:10:33 Etc/GMT""#, 1_415_805_033),
            (#""expires_date_ms":"soon","expires_date":"2014-11-12 15:10:33 Etc/GMT""#, 1_415_805_033),
            (#""expires_date_ms":null,"expires_date":"2014-11-12 15:10:33 Etc/GMT""#, 1_415_805_033),
        ])
    func dates(field: String, seconds: Double) throws {
        let answer = try verifyReceiptAnswer(verifyReceiptJSON(inApp: "[\(entry("1", ",\(field)"))]"))
        #expect(answer.purchases.first?.expiresDate == Date(timeIntervalSince1970: seconds))
    }

    @Test("statuses without a receipt, with a flag in each of its ways")
    func refusals() throws {
        let answer = try verifyReceiptAnswer(#"{"environment":"Production","status":21010,"is_retryable":false}"#)
        #expect(answer.status == .accountUnknown && answer.isRetryable == false && answer.receipt == nil)
        for (flag, expected) in [
            (#""is-retryable":true"#, true), (#""is-retryable":"0""#, false), (#""is_retryable":1"#, true),
            (#""is-retryable":0,"is_retryable":true"#, false), (#""is-retryable":"perhaps""#, nil),
            (#""is-retryable":null"#, nil),
        ] as [(String, Bool?)] {
            #expect(try verifyReceiptAnswer(#"{"status":21123,\#(flag)}"#).isRetryable == expected, "\(flag)")
        }
        // What a refusal carries is not looked at.
        let odd = try verifyReceiptAnswer(verifyReceiptJSON(inApp: "[\(entry("1"))]", status: "21005"))
        #expect(odd.receipt == nil && odd.purchases.isEmpty && odd.unreadablePurchases == 0)
    }
}
