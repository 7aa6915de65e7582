import AppStore
import Foundation
import Testing

@testable import AppStoreSimulator

@Suite("Signed transactions")
struct SignedTransactionTests {
    private let store: SimulatedStore

    init() throws { store = try #require(SimulatedStore.shared) }

    private func transaction(_ changes: [String: String?]) throws -> SignedTransaction {
        let jws = try store.sign(SimulatedStore.payload(changes))
        return try store.verifier.transaction(jws, app: SimulatedStore.app).get()
    }

    @Test("every field that Apple documents is read")
    func everyField() throws {
        let token = UUID()
        let transaction = try transaction([
            "previousOriginalTransactionId": "\"1\"", "webOrderLineItemId": "\"2\"",
            "subscriptionGroupIdentifier": "\"3\"", "originalPurchaseDate": "1000", "expiresDate": "2000",
            "appAccountToken": "\"\(token.uuidString.lowercased())\"", "revocationReason": "1",
            "revocationDate": "3000", "revocationType": "\"REFUND_PRORATED\"", "revocationPercentage": "50000",
            "isUpgraded": "true", "offerType": "4", "offerIdentifier": "\"4\"",
            "offerDiscountType": "\"PAY_UP_FRONT\"", "offerPeriod": "\"P1M\"", "storefront": "\"DEU\"",
            "storefrontId": "\"143443\"", "transactionReason": "\"RENEWAL\"", "currency": "\"EUR\"",
            "price": "9990", "appTransactionId": "\"5\"", "advancedCommerceInfo": "{ \"items\": [ {\"a\": 1} ] }",
            "billingPlanType": "\"MONTHLY\"",
            "commitmentInfo": """
            {"billingPeriodNumber":2,"totalBillingPeriods":12,"commitmentPrice":119880,"commitmentExpiresDate":4000}
            """,
        ])
        #expect(transaction.previousOriginalTransactionId == "1")
        #expect(transaction.webOrderLineItemId == "2")
        #expect(transaction.subscriptionGroupIdentifier == "3")
        #expect(transaction.originalPurchaseDate == Date(timeIntervalSince1970: 1))
        #expect(transaction.expiresDate == Date(timeIntervalSince1970: 2))
        #expect(transaction.appAccountToken == token)
        #expect(transaction.revocationReason == .issueWithApp)
        #expect(transaction.revocationDate == Date(timeIntervalSince1970: 3))
        #expect(transaction.revocationType == .refundProrated)
        #expect(transaction.revocationPercentage == 50_000)
        #expect(transaction.isUpgraded == true)
        #expect(transaction.offerType == .winBack)
        #expect(transaction.offerIdentifier == "4")
        #expect(transaction.offerDiscountType == .payUpFront)
        #expect(transaction.offerPeriod == "P1M")
        #expect(transaction.storefront == "DEU")
        #expect(transaction.storefrontId == "143443")
        #expect(transaction.transactionReason == .renewal)
        #expect(transaction.currency == "EUR")
        #expect(transaction.price == 9_990)
        #expect(transaction.appTransactionId == "5")
        #expect(transaction.advancedCommerceInfo == "{ \"items\": [ {\"a\": 1} ] }")
        #expect(transaction.billingPlanType?.rawValue == "MONTHLY")
        #expect(transaction.commitmentInfo?.billingPeriodNumber == 2)
        #expect(transaction.commitmentInfo?.totalBillingPeriods == 12)
        #expect(transaction.commitmentInfo?.commitmentPrice == 119_880)
        #expect(transaction.commitmentInfo?.commitmentExpiresDate == Date(timeIntervalSince1970: 4))
        #expect(transaction.unknownFields == [])
        #expect(transaction.unreadableFields == [])
    }

    @Test("what Apple adds tomorrow is kept, not refused")
    func tomorrow() throws {
        let transaction = try transaction([
            "zebra": "{\"a\":[1,2,{\"b\":null}]}", "aardvark": "\"new\"", "type": "\"Lease\"", "offerType": "99",
            "revocationType": "\"REFUND_HALF\"", "inAppOwnershipType": "\"LENT\"",
        ])
        #expect(transaction.unknownFields == ["aardvark", "zebra"])
        #expect(transaction.type.rawValue == "Lease")
        #expect(transaction.offerType?.rawValue == 99)
        #expect(transaction.revocationType?.rawValue == "REFUND_HALF")
        #expect(transaction.inAppOwnershipType?.rawValue == "LENT")
        #expect(String(decoding: transaction.payload, as: UTF8.self).contains("\"aardvark\":\"new\""))
    }

    @Test("a change of a field on which nothing depends does not turn a purchase away")
    func unreadable() throws {
        let transaction = try transaction([
            "offerPeriod": "{}", "price": "\"9.99\"", "isUpgraded": "1", "appAccountToken": "\"player-7\"",
            "commitmentInfo": "[]",
        ])
        #expect(
            transaction.unreadableFields.sorted()
                == ["appAccountToken", "commitmentInfo", "isUpgraded", "offerPeriod", "price"])
        #expect(transaction.appAccountToken == nil)
    }

    @Test("fields that are null are as good as absent")
    func nulls() throws {
        let transaction = try transaction([
            "price": "null", "revocationDate": "null", "quantity": "null", "later": "null",
            "appAccountToken": "\"\"",
        ])
        #expect(transaction.appAccountToken == nil, "an empty one is none, too")
        #expect(transaction.price == nil)
        #expect(transaction.revocationDate == nil)
        #expect(transaction.quantity == nil)
        #expect(transaction.unreadableFields == [])
    }

    @Test("times keep their fraction, and strings their escapes")
    func fractions() throws {
        let transaction = try transaction([
            "purchaseDate": "1697679936049.5", "productId": "\"caf\\u00e9\\/\\ud83d\\ude00\\n\\\"\"",
            "price": "1.99e3",
        ])
        #expect(transaction.purchaseDate == Date(timeIntervalSince1970: 1_697_679_936.0495))
        #expect(transaction.productId == "café/😀\n\"")
        #expect(transaction.price == 1_990)
    }

    @Test("roots are given by fingerprint, in any usual spelling, and never none")
    func roots() throws {
        let plain = "63343abfb89a6a03ebb57e9b3f5fa7be7c4f5c756f3017b3a8c488c3653e9179"
        let colons = """
            63:34:3A:BF:B8:9A:6A:03:EB:B5:7E:9B:3F:5F:A7:BE:7C:4F:5C:75:6F:30:17:B3:A8:C4:88:C3:65:3E:91:79
            """
        #expect(try TrustedRoots(fingerprints: [plain]) == .appleRootG3)
        #expect(try TrustedRoots(fingerprints: [colons]) == .appleRootG3)
        for bad in [[], [""], [String(plain.dropLast())], [plain + "0"], [String(plain.dropLast()) + "g"]] as [[String]]
        {
            #expect(throws: TrustedRootsError.self) { try TrustedRoots(fingerprints: bad) }
        }
        #expect(store.roots.union(.appleRootG3).fingerprints.count == 2)
    }
}
