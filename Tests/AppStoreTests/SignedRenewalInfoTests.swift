import AppStore
import Foundation
import Testing

@testable import AppStoreSimulator

@Suite("Signed renewal infos")
struct SignedRenewalInfoTests {
    private let store: SimulatedStore

    init() throws { store = try #require(SimulatedStore.shared) }

    private func info(_ changes: [String: String?]) throws -> Result<SignedRenewalInfo, SignedDataRejection> {
        let jws = try store.sign(NotificationDraft.renewalInfo(changes))
        return store.verifier.renewalInfo(jws, originalTransactionId: "2000000000000001")
    }

    @Test("every field that Apple documents is read")
    func everyField() throws {
        let token = UUID()
        let info = try info([
            "expirationIntent": "2", "isInBillingRetryPeriod": "true", "priceIncreaseStatus": "1",
            "gracePeriodExpiresDate": "1000", "offerType": "4", "offerIdentifier": "\"COMEBACK\"",
            "recentSubscriptionStartDate": "2000", "renewalDate": "3000", "currency": "\"EUR\"",
            "renewalPrice": "9990", "offerDiscountType": "\"PAY_UP_FRONT\"",
            "eligibleWinBackOfferIds": "[\"a\",\"b\"]", "appAccountToken": "\"\(token.uuidString)\"",
            "appTransactionId": "\"7\"", "offerPeriod": "\"P1M\"", "advancedCommerceInfo": "{\"items\":[]}",
            "renewalBillingPlanType": "\"MONTHLY\"",
            "commitmentInfo": """
            {"commitmentAutoRenewProductId":"c","commitmentAutoRenewStatus":1,\
            "commitmentRenewalBillingPlanType":"MONTHLY","commitmentRenewalDate":4000,"commitmentRenewalPrice":5}
            """,
        ]).get()
        #expect(info.autoRenewStatus == .on)
        #expect(info.expirationIntent == .billingError)
        #expect(info.isInBillingRetryPeriod == true)
        #expect(info.priceIncreaseStatus == .agreed)
        #expect(info.gracePeriodExpiresDate == Date(timeIntervalSince1970: 1))
        #expect(info.recentSubscriptionStartDate == Date(timeIntervalSince1970: 2))
        #expect(info.renewalDate == Date(timeIntervalSince1970: 3))
        #expect(info.offerType == .winBack && info.offerIdentifier == "COMEBACK")
        #expect(info.offerDiscountType == .payUpFront && info.offerPeriod == "P1M")
        #expect(info.currency == "EUR" && info.renewalPrice == 9_990)
        #expect(info.eligibleWinBackOfferIds == ["a", "b"])
        #expect(info.appAccountToken == token && info.appTransactionId == "7")
        #expect(info.advancedCommerceInfo == "{\"items\":[]}")
        #expect(info.renewalBillingPlanType?.rawValue == "MONTHLY")
        #expect(info.commitmentInfo?.commitmentAutoRenewProductId == "c")
        #expect(info.commitmentInfo?.commitmentAutoRenewStatus == .on)
        #expect(info.commitmentInfo?.commitmentRenewalBillingPlanType?.rawValue == "MONTHLY")
        #expect(info.commitmentInfo?.commitmentRenewalDate == Date(timeIntervalSince1970: 4))
        #expect(info.commitmentInfo?.commitmentRenewalPrice == 5)
        #expect(info.unknownFields == [])
        #expect(info.unreadableFields == [])
    }

    @Test("what Apple adds tomorrow is kept; what cannot be read is named")
    func tomorrow() throws {
        let info = try info([
            "zebra": "1", "expirationIntent": "9", "eligibleWinBackOfferIds": "[1]", "renewalPrice": "\"9\"",
            "commitmentInfo": "[]",
        ]).get()
        #expect(info.unknownFields == ["zebra"])
        #expect(info.expirationIntent?.rawValue == 9)
        #expect(info.unreadableFields.sorted() == ["commitmentInfo", "eligibleWinBackOfferIds", "renewalPrice"])
    }

    @Test("how long somebody is served is never guessed, nor whose subscription it is")
    func strict() throws {
        #expect(rejection(try info(["gracePeriodExpiresDate": "\"later\""])) == .fieldInvalid)
        #expect(rejection(try info(["renewalDate": "{}"])) == .fieldInvalid)
        #expect(rejection(try info(["originalTransactionId": nil])) == .fieldMissing)
        #expect(rejection(try info(["productId": "\"\""])) == .fieldMissing)
        #expect(rejection(try info(["originalTransactionId": "\"2\""])) == .renewalInfoMismatch)
        #expect(rejection(try info(["autoRenewStatus": nil, "autoRenewProductId": nil])) == .notRenewalInfo)
        #expect(rejection(try info(["environment": "\"Xcode\""])) == .environmentXcode)
        #expect(rejection(try info(["environment": "\"LocalTesting\""])) == .environmentLocalTesting)
        #expect(rejection(try info(["environment": "\"Other\""])) == .environmentUnknown)
        #expect(try info(["environment": nil]).get().environment == nil)
    }
}
