import Foundation
import Testing

@testable import AppStoreServerAPI

/// What Apple may send tomorrow is kept, what it would refuse is not sent, and what leads elsewhere goes nowhere.
@Suite
struct ShapeTests {
    @Test func unknownValuesAndFieldsAreKeptOrPassedOver() throws {
        let json =
            #"{"environment":"Moon","future":{"a":1},"data":[{"subscriptionGroupIdentifier":"1","lastTransactions":"#
            + #"[{"status":77,"originalTransactionId":"5","new":null}]}]}"#
        let status = try read(StatusResponse.self, json).lastTransactions.first?.status
        #expect(status == SubscriptionStatus(rawValue: 77) && status?.description == "77")
        let attempt = #"{"signedPayload":"x","sendAttempts":[{"sendAttemptResult":"ABDUCTED"}]}"#
        let sent = try read(SentNotification.self, attempt)
        #expect(sent.sendAttempts.map(\.sendAttemptResult.rawValue) == ["ABDUCTED"])
        #expect(throws: DecodingError.self) { try read(HistoryResponse.self, "{}") }
        #expect(throws: DecodingError.self) { try read(StatusResponse.self, "{}") }
    }

    private func read<Value: Decodable>(_ type: Value.Type, _ json: String) throws -> Value {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .millisecondsSince1970
        return try decoder.decode(type, from: Data(json.utf8))
    }

    @Test func oneOddValueDoesNotSpoilItsPage() throws {
        let history = try read(
            HistoryResponse.self,
            #"""
            {"revision":7,"hasMore":false,"bundleId":{},"appAppleId":"x","environment":1,
            "signedTransactions":["a",null,7,{},"b"]}
            """#)
        #expect(history.signedTransactions == ["a", "b"] && history.unreadableEntries == 3)
        #expect(history.revision == nil && !history.hasMore)
        for none in [#"{"hasMore":true}"#, #"{"hasMore":true,"signedTransactions":null}"#] {
            let page = try read(HistoryResponse.self, none)
            #expect(page.signedTransactions.isEmpty && page.unreadableEntries == 0, "\(none)")
        }
        let notifications = try read(
            NotificationHistoryResponse.self,
            #"""
            {"paginationToken":{},"hasMore":true,"notificationHistory":[
            {"signedPayload":"a","sendAttempts":[{"attemptDate":"x","sendAttemptResult":"SUCCESS"},7,
            {"sendAttemptResult":null}]},{"signedPayload":"b","sendAttempts":"none"},{"signedPayload":null},{},[],null]}
            """#)
        #expect(notifications.notificationHistory.map(\.signedPayload) == ["a", "b"])
        #expect(notifications.notificationHistory.map(\.sendAttempts.count) == [1, 0])
        #expect(notifications.unreadableEntries == 4 && notifications.paginationToken == nil)
        let statuses = try read(
            StatusResponse.self,
            #"""
            {"appAppleId":"x","data":[{"lastTransactions":[{"status":"x","signedTransactionInfo":"a"},
            {"signedTransactionInfo":7,"signedRenewalInfo":"r"},null]},{"lastTransactions":[{}]},{},7]}
            """#)
        #expect(statuses.lastTransactions.map(\.signedTransactionInfo) == ["a", nil, nil])
        #expect(statuses.lastTransactions.map(\.signedRenewalInfo) == [nil, "r", nil])
        #expect(statuses.unreadableEntries == 3)
    }

    @Test func requestsThatAppleWouldRefuseAreNotSent() throws {
        func code(_ check: () throws -> Void) -> AppStoreServerError.Code? {
            do { try check() } catch { return (error as? AppStoreServerError)?.code }
            return nil
        }
        func extended(_ days: Int, _ id: String) -> AppStoreServerError.Code? {
            code {
                try ExtendRenewalDateRequest(extendByDays: days, extendReasonCode: .other, requestIdentifier: id)
                    .check()
            }
        }
        #expect(extended(90, "a") == nil && extended(91, "a") == .invalidExtendByDays)
        #expect(extended(0, "a") == .invalidExtendByDays && extended(1, "") == .invalidRequestIdentifier)
        #expect(extended(1, String(repeating: "é", count: 129)) == .invalidRequestIdentifier)
        let mass = MassExtendRenewalDateRequest(
            extendByDays: 1, extendReasonCode: .other, requestIdentifier: "a", productId: "p",
            storefrontCountryCodes: [])
        #expect(code { try mass.check() } == .invalidEmptyStorefrontCountryCodeList)
        let silent = ConsumptionRequest(
            customerConsented: false, sampleContentProvided: true, deliveryStatus: .delivered)
        #expect(code { try silent.check() } == .invalidCustomerConsented)
        var odd = ConsumptionRequest(
            customerConsented: true, sampleContentProvided: true, deliveryStatus: .undeliveredOther,
            consumptionPercentage: 1)
        #expect(throws: AppStoreServerError.self) { try odd.check() }
        odd.consumptionPercentage = 0
        try odd.check()
        let now = Date()
        #expect(
            code { _ = try NotificationHistoryRequest(startDate: now, endDate: now).wire() } == .startDateAfterEndDate)
        #expect(code { _ = try HistoryQuery(startDate: .distantPast).parameters() } == .invalidStartDate)
        let long = RetentionMessageContent(header: String(repeating: "h", count: 67), body: "")
        #expect(code { try long.check() } == .headerTooLong)
        let headless = RetentionMessageContent(header: "", body: "", headerPosition: .aboveImage)
        #expect(code { try headless.check() } == .badRequestAboveImageRequiresAnImage)
    }

    @Test(arguments: ["", "../2", "1/2", "1?x", "１", "1 ", String(repeating: "1", count: 65)])
    func anIdFromOutsideLeadsNowhereElse(id: String) {
        #expect(throws: AppStoreServerError.self) { try PathPart.identifier(id, .invalidTransactionId) }
    }

    @Test func pathsAndQueriesAreEscaped() {
        let call = APICall(.get, "v1", "a/b c", "é").query([("x", "1&y=2"), ("none", nil), ("x", "+")])
        #expect(call.path == "/inApps/v1/a%2Fb%20c/%C3%A9?x=1%26y%3D2&x=%2B")
        #expect(throws: AppStoreServerError.self) { try PathPart.name("..", nil, "productId") }
    }

    @Test func retryAfterByItsMagnitude() {
        let now = Date(timeIntervalSince1970: 1_000)
        #expect(RetryAfter.date("120", now: now) == Date(timeIntervalSince1970: 1_120))
        #expect(RetryAfter.date("0", now: now) == now)
        #expect(RetryAfter.date(" 1700000000123 ", now: now) == Date(timeIntervalSince1970: 1_700_000_000.123))
        for text in ["", "-5", "soon", "1e3", "99999999999999999999", "9999999999999999"] {
            #expect(RetryAfter.date(text, now: now) == nil, "\(text)")
        }
    }

    @Test func errorsShowNoControlCharactersAndKnowTheHosts() {
        let answer = Exchange.Answer(
            status: 400, contentType: "application/json;charset=UTF-8", retryAfter: nil,
            body: Data(#"{"errorCode":4000006,"errorMessage":"a\nb"}"#.utf8))
        let error = AppStoreServerError(answer)
        #expect(error.message == "a b" && error.code == .invalidTransactionId)
        #expect("\(error)" == "invalidRequest, HTTP 400, code 4000006, a b")
        #expect(AppStoreHosts.apple.base(of: .sandbox) == "https://api.storekit-sandbox.apple.com")
        #expect(AppStoreHosts.appleBefore2026.base(of: .production) == "https://api.storekit.itunes.apple.com")
    }
}
