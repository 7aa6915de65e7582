import Foundation
import Testing

@testable import AppStoreServerAPI

/// Several entries about one transaction become one purchase, and none is lost on the way.
@Suite("verifyReceipt: entries about the same transaction")
struct VerifyReceiptMergingTests {
    /// The one purchase of an older and a newer entry; nil when it could not be read.
    private func merged(_ older: String, _ newer: String) throws -> VerifyReceiptAnswer.Purchase? {
        let answer = try verifyReceiptAnswer(
            verifyReceiptJSON(
                inApp: "[\(entry("1", older))]", #","latest_receipt_info":[\#(entry("1", newer))]"#))
        #expect(answer.purchases.count + answer.unreadablePurchases == 1)
        #expect(answer.mayHide("1") == answer.purchases.isEmpty)
        return answer.purchases.first
    }

    private let cancelled = #","cancellation_date_ms":"1521150082000","cancellation_reason":"1""#
    private let date = Date(timeIntervalSince1970: 1_521_150_082)

    @Test("the newer word wins, and silence takes nothing back")
    func newerWins() throws {
        let older =
            #","expires_date_ms":"1000","promotional_offer_id":"a","is_trial_period":"true","#
            + #""original_transaction_id":"9","app_account_token":"7E3FB20B-4CDB-47CC-936D-99D65F608138""#
        let purchase = try #require(
            try merged(older, #","expires_date_ms":"2000","is_upgraded":"true","is_trial_period":"false""#))
        #expect(purchase.expiresDate == Date(timeIntervalSince1970: 2) && purchase.isUpgraded)
        #expect(purchase.promotionalOfferId == "a" && purchase.originalTransactionId == "9" && !purchase.isTrialPeriod)
        #expect(purchase.isInReceipt && purchase.appAccountToken != nil)
        #expect(
            try merged(#","expires_date_ms":"2000""#, #","expires_date_ms":"1000""#)?.expiresDate?
                .timeIntervalSince1970 == 1)
    }

    @Test("a cancellation goes only when the newer word says that there is none")
    func cancellation() throws {
        let kept = try merged(cancelled, "")
        #expect(kept?.cancellationDate == date && kept?.cancellationReason == "1")
        #expect(try merged("", cancelled)?.cancellationDate == date)
        let later = try merged(cancelled, #","cancellation_date_ms":"1621150082000""#)
        #expect(later?.cancellationDate == Date(timeIntervalSince1970: 1_621_150_082))
        #expect(later?.cancellationReason == "1")
        let undone = try #require(try merged(cancelled, #","cancellation_date":null"#))
        #expect(undone.cancellationDate == nil && undone.cancellationReason == nil)
        // Half a cancellation, or one that cannot be read, is neither one nor none.
        #expect(try merged("", #","cancellation_reason":"1""#) == nil)
        #expect(try merged(cancelled, #","cancellation_date":"yesterday""#) == nil)
        #expect(try merged(#","cancellation_date_ms":{}"#, "") == nil)
    }

    @Test("each transaction once, in the order of the receipt, then what came since")
    func order() throws {
        let json = verifyReceiptJSON(
            inApp: "[\(entry("3")),\(entry("1")),\(entry("3", #","quantity_":1"#))]",
            #","latest_receipt_info":[\#(entry("9")),\#(entry("1")),\#(entry("2"))]"#)
        let answer = try verifyReceiptAnswer(json)
        #expect(answer.purchases.map(\.transactionId) == ["3", "1", "9", "2"])
        #expect(answer.purchases.map(\.isInReceipt) == [true, true, false, false])
    }

    @Test("of renewals the last word of each subscription counts, and an unreadable one does no harm")
    func renewals() throws {
        let json = verifyReceiptJSON(
            inApp: "[]",
            #","pending_renewal_info":[{"original_transaction_id":"1","auto_renew_status":"1"},7,{},null,"#
                + #"{"original_transaction_id":2,"auto_renew_status":"?","grace_period_expires_date":[]},"#
                + #"{"original_transaction_id":"1","auto_renew_status":"0"}]"#)
        let answer = try verifyReceiptAnswer(json)
        #expect(answer.pendingRenewals.map(\.originalTransactionId) == ["1", "2"])
        #expect(answer.pendingRenewals.map(\.willAutoRenew) == [false, nil])
        #expect(answer.unreadablePurchases == 0)
        #expect(
            try verifyReceiptAnswer(verifyReceiptJSON(inApp: "[]", #","pending_renewal_info":7"#)).pendingRenewals == []
        )
    }

    @Test(
        "an unreadable entry hides no other, and is counted",
        arguments: [
            "7", "null", "[]", #""x""#, "{}", #"{"transaction_id":"5"}"#, entry("5/6"), entry(""),
            entry("5", #","product_id_":1,"original_transaction_id":"a b""#), entry("5", #","expires_date_ms":"soon""#),
            entry("5", #","expires_date_ms":"-1""#), entry("5", #","expires_date_ms":"999999999999999999""#),
            entry("5", #","expires_date":"2014-11-12 15:10:33 Mars/Crater""#), entry("5", #","is_upgraded":"maybe""#),
            entry("5", #","app_account_token":"alice""#), entry("5", #","original_transaction_id":1.5"#),
            entry("5", #","original_transaction_id":123456789012345678901"#),
            entry("5\\u0000"), entry("5").replacing("coins", with: "co\\u0000ins"),
            entry("5").replacing("coins", with: String(repeating: "c", count: 256)),
            entry("5").replacing(#""quantity":"1""#, with: #""quantity":"0""#),
            entry("5").replacing(#""quantity":"1""#, with: #""quantity":"many""#),
            entry("5").replacing(#""quantity":"1""#, with: #""quantity":9223372036854775807"#),
            entry("5").replacing("purchase_date_ms", with: "bought"),
            entry("5").replacing("product_id", with: "product"),
        ])
    func unreadable(bad: String) throws {
        for (inApp, latest) in [
            ("[\(entry("1")),\(bad),\(entry("2"))]", "[]"), ("[\(entry("1"))]", "[\(bad),\(entry("2"))]"),
        ] {
            let answer = try verifyReceiptAnswer(
                verifyReceiptJSON(inApp: inApp, #","latest_receipt_info":\#(latest)"#))
            #expect(answer.purchases.map(\.transactionId) == ["1", "2"])
            #expect(answer.unreadablePurchases == 1)
            #expect(answer.mayHide("5") && answer.mayHide("77") && !answer.mayHide("1") && !answer.mayHide("2"))
            #expect(answer.finding(attempt: 1) == .valid)
        }
    }

    @Test("an entry that cannot be read takes its transaction off the list, in whichever list it stands")
    func contradiction() throws {
        let bad = entry("1", #","cancellation_date_ms":"?""#)
        for (inApp, latest) in [(entry("1"), bad), (bad, entry("1"))] {
            let answer = try verifyReceiptAnswer(
                verifyReceiptJSON(inApp: "[\(inApp)]", #","latest_receipt_info":[\#(latest)]"#))
            #expect(answer.purchases.isEmpty && answer.unreadablePurchases == 1 && answer.mayHide("1"))
        }
        for odd in ["7", #""x""#, "true"] {
            let answer = try verifyReceiptAnswer(
                verifyReceiptJSON(inApp: "[\(entry("1"))]", #","latest_receipt_info":\#(odd)"#))
            #expect(answer.purchases.count == 1 && answer.unreadablePurchases == 1, "\(odd)")
            #expect(try verifyReceiptAnswer(verifyReceiptJSON(inApp: odd)).unreadablePurchases == 1, "\(odd)")
        }
    }
}
