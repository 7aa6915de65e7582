import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import Testing

@testable import AppStoreSimulator

@Suite("verifyReceipt")
struct VerifyReceiptTests {
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
