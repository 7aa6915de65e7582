import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import Testing

@testable import AppStoreSimulator

@Suite("verifyReceipt")
struct VerifyReceiptTests {
    @Test("a good receipt is valid")
    func valid() async throws {
        let shop = try await ReceiptShop()
        try await shop.sell("101", "coins", .consumable)
        let answer = try await shop.verify(receipt: try await shop.receipt())
        #expect(answer.http == .ok)
        #expect(answer.status == 0)
        #expect(answer.fields["environment"]?.text == "Production")
        #expect(answer.inApp.map { $0["transaction_id"]?.text } == ["101"])
        await shop.store.close()
    }

    @Test(
        "what is no POST is answered 21000",
        arguments: [HTTPRequest.Method.get, .put, .patch, .delete, .options])
    func notPost(_ method: HTTPRequest.Method) async throws {
        let shop = try await ReceiptShop()
        let answer = try await shop.verify("", method: method)
        #expect(answer.http == .ok)
        #expect(answer.status == 21000)
        #expect(answer.fields["environment"] == nil)
        await shop.store.close()
    }

    @Test(
        "what cannot be read is answered 21002",
        arguments: [
            "", "{", "[]", "{}", #"{"receipt-data":""}"#, #"{"receipt-data":7}"#, #"{"receipt-data":"?"}"#,
            #"{"receipt-data":"AAAA"}"#, #"{"receipt-data":"AAAA","exclude-old-transactions":"maybe"}"#,
        ])
    func malformed(_ body: String) async throws {
        let shop = try await ReceiptShop()
        let answer = try await shop.verify(body)
        #expect(answer.http == .ok)
        #expect(answer.status == 21002)
        await shop.store.close()
    }

    @Test("a body beyond the limit is refused")
    func tooLarge() async throws {
        let shop = try await ReceiptShop()
        let answer = try await shop.verify(String(repeating: " ", count: VerifyReceipt.Limit.bodyBytes + 1))
        #expect(answer.http == .contentTooLarge)
        await shop.store.close()
    }

    @Test("somebody else's receipt is answered 21003")
    func notAuthentic() async throws {
        let shop = try await ReceiptShop()
        let other = try ReceiptAuthority(now: Date())
        let receipt = Data(try other.receipt(ReceiptEncodingTests.contents(.production))).base64EncodedString()
        let answer = try await shop.verify(receipt: receipt)
        #expect(answer.status == 21003)
        #expect(answer.fields["environment"]?.text == "Production")
        await shop.store.close()
    }

    @Test("the shared secret is wanted for auto-renewable subscriptions, of an app that has one")
    func sharedSecret() async throws {
        let shop = try await ReceiptShop(sharedSecret: ReceiptShop.secret)
        try await shop.sell("101", "coins", .consumable)
        #expect(try await shop.verify(receipt: try await shop.receipt()).status == 0)
        try await shop.sell("102", "monthly", .autoRenewableSubscription)
        let receipt = try await shop.receipt()
        #expect(try await shop.verify(receipt: receipt).status == 21004)
        #expect(try await shop.verify(receipt: receipt, password: "a guess").status == 21004)
        #expect(try await shop.verify(receipt: receipt, password: ReceiptShop.secret).status == 0)
        await shop.store.close()
    }

    @Test("each host sends the other's receipts away: 21007 and 21008")
    func otherEnvironment() async throws {
        let shop = try await ReceiptShop()
        let sandbox = try await shop.receipt(environment: .sandbox)
        let production = try await shop.receipt(environment: .production)
        #expect(try await shop.verify(receipt: sandbox, on: .production).status == 21007)
        #expect(try await shop.verify(receipt: sandbox, on: .sandbox).status == 0)
        #expect(try await shop.verify(receipt: production, on: .sandbox).status == 21008)
        #expect(try await shop.verify(receipt: production, on: .production).status == 0)
        await shop.store.close()
    }

    @Test("a deleted account is answered 21010")
    func deletedAccount() async throws {
        let shop = try await ReceiptShop()
        let receipt = try await shop.receipt()
        try await shop.store.change { state, _ in
            var account = state.account("alice")
            account.isDeleted = true
            state.put(account)
        }
        let answer = try await shop.verify(receipt: receipt)
        #expect(answer.status == 21010)
        #expect(answer.fields["is_retryable"] == .flag(false))
        await shop.store.close()
    }

    @Test("any other status can be demanded of one environment", arguments: [21001, 21005, 21009, 21100, 21199])
    func demanded(_ status: Int) async throws {
        let shop = try await ReceiptShop()
        let receipt = try await shop.receipt()
        let put = try await shop.control(
            .put, "verify-receipt", #"{"environment":"Production","status":\#(status),"isRetryable":true}"#)
        #expect(put.status == .ok)
        let answer = try await shop.verify(receipt: receipt)
        #expect(answer.http == .ok)
        #expect(answer.status == status)
        #expect(answer.fields["is_retryable"] == .flag(true))
        #expect(answer.fields["is-retryable"] == .flag(true))
        #expect(answer.fields["receipt"] == nil)
        let sandbox = try await shop.receipt(environment: .sandbox)
        #expect(try await shop.verify(receipt: sandbox, on: .sandbox).status == 0)
        _ = try await shop.control(.put, "verify-receipt", #"{"status":0}"#)
        #expect(try await shop.verify(receipt: receipt).status == 0)
        await shop.store.close()
    }

    @Test("21006 comes with the receipt")
    func expiredSubscription() async throws {
        let shop = try await ReceiptShop()
        try await shop.sell("101", "monthly", .autoRenewableSubscription)
        _ = try await shop.control(.put, "verify-receipt", #"{"status":21006}"#)
        let answer = try await shop.verify(receipt: try await shop.receipt())
        #expect(answer.status == 21006)
        #expect(answer.inApp.count == 1)
        await shop.store.close()
    }

    @Test("a share of the answers can be demanded, the same ones each time")
    func share() async throws {
        let shop = try await ReceiptShop()
        let receipt = try await shop.receipt()
        let put = try await shop.control(.put, "verify-receipt", #"{"status":21005,"share":0.25}"#)
        #expect(String(buffer: put.body).contains(#""Sandbox":{"share":0.25,"status":21005}"#))
        var statuses: [Int?] = []
        for _ in 0..<8 { statuses.append(try await shop.verify(receipt: receipt).status) }
        #expect(statuses == [0, 0, 0, 21005, 0, 0, 0, 21005])
        #expect(String(buffer: try await shop.control(.delete, "verify-receipt").body) == "{}")
        #expect(String(buffer: try await shop.control(.get, "verify-receipt").body) == "{}")
        await shop.store.close()
    }

    @Test(
        "a demand that cannot be is named",
        arguments: [
            ("{}", "status"), (#"{"status":200}"#, "status"), (#"{"status":21011}"#, "status"),
            (#"{"status":21005,"share":0}"#, "share"), (#"{"status":21005,"share":1.5}"#, "share"),
            (#"{"status":21005,"environment":"Xcode"}"#, "environment"),
        ])
    func badDemand(_ body: String, _ field: String) async throws {
        let shop = try await ReceiptShop()
        let response = try await shop.control(.put, "verify-receipt", body)
        #expect(response.status == .badRequest)
        #expect(String(buffer: response.body).contains(field))
        await shop.store.close()
    }
}
