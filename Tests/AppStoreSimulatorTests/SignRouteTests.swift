import AppStore
import Foundation
import HTTPTypes
import HummingbirdTesting
import Testing

@testable import AppStoreSimulator

@Suite("Control API: signed anew with other fields, and moved to other ids")
struct SignRouteTests {
    private struct Signed: Decodable {
        struct Notification: Decodable {
            let notificationType: String
            let subtype: String?
            let signedPayload: String
        }
        let signedTransaction: String
        let signedRenewalInfo: String?
        let notification: Notification?
    }

    private static let app = "com.example.late"

    private static func subscribe(_ simulator: borrowing Simulator, signs: String = "{}") async throws -> String {
        try await simulator.control(.put, "apps/\(app)", "{}")
        try await simulator.control(
            .put, "apps/\(app)/products/vip",
            #"{"type":"Auto-Renewable Subscription","period":"P1M","signs":\#(signs)}"#)
        let sold = try await simulator.sell(#"{"bundleId":"\#(app)","productId":"vip","account":"alice"}"#)
        return try #require(sold.first).transactionId
    }

    private static func sign(_ simulator: borrowing Simulator, _ id: String, _ body: String) async throws -> Signed {
        try JSONDecoder().decode(Signed.self, from: try await simulator.control(.post, "transactions/\(id)/sign", body))
    }

    private static func payload(_ jws: String) throws -> OrderedJSON {
        try #require(DecodedNotification.payload(of: jws))
    }

    /// What Apple's servers say of a transaction.
    private static func known(_ simulator: borrowing Simulator, _ id: String) async throws -> OrderedJSON {
        let answer = try await simulator.control(.get, "transactions/\(id)")
        return try payload(try JSONDecoder().decode(Signed.self, from: answer).signedTransaction)
    }

    private struct Changed: Decodable {
        struct Subscription: Decodable {
            let originalTransactionId: String
            let transactionId: String
        }
        let subscription: Subscription
    }

    private static func change(
        _ simulator: borrowing Simulator, _ path: String, _ body: String
    ) async throws -> Changed.Subscription {
        let data = try await simulator.control(.post, path, body)
        return try JSONDecoder().decode(Changed.self, from: data).subscription
    }

    @Test("fields are replaced, added and removed in one signature, which verifies; Apple's servers say what they said")
    func once() async throws {
        let simulator = try Simulator()
        let id = try await Self.subscribe(simulator)
        try await simulator.control(.post, "transactions/\(id)/refund")
        let signed = try await Self.sign(
            simulator, id,
            #"""
            {"fields":{"revocationDate":null,"revocationReason":null,"type":"Subscription Suite",
            "bundleTransactionID":"7"}}
            """#)
        let verifier = SignedDataVerifier(roots: try simulator.roots())
        #expect(code(verifier.payload(Array(signed.signedTransaction.utf8))) == nil)
        let stale = try Self.payload(signed.signedTransaction)
        #expect(stale["transactionId"]?.string == id)
        #expect(stale["revocationDate"] == nil && stale["revocationReason"] == nil)
        #expect(stale["type"]?.string == "Subscription Suite" && stale["bundleTransactionID"]?.string == "7")
        #expect(signed.signedRenewalInfo == nil && signed.notification == nil)
        let known = try await Self.known(simulator, id)
        #expect(known["revocationDate"] != nil && known["bundleTransactionID"] == nil)
    }

    @Test("what is kept, Apple's servers say from then on, until it is replaced; a reopened store still does")
    func kept() async throws {
        let simulator = try Simulator()
        let id = try await Self.subscribe(simulator)
        _ = try await Self.sign(
            simulator, id,
            #"{"fields":{"bundleId":null,"price":1},"renewalInfo":{"willUnbundle":true},"keep":true}"#)
        _ = try await Self.sign(simulator, id, #"{"fields":{"price":2},"keep":true}"#)
        let known = try await Self.known(simulator, id)
        #expect(known["bundleId"] == nil && known["price"] == .literal("2"))
        let subscription = try await simulator.control(.get, "subscriptions/\(id)")
        let renewal = try Self.payload(
            try #require(try JSONDecoder().decode(Signed.self, from: subscription).signedRenewalInfo))
        #expect(renewal["willUnbundle"] == .literal("true"))
        let again = try Simulator(folder: simulator.folder)
        #expect(try await Self.known(again, id)["price"] == .literal("2"))
    }

    @Test("every period of a product is signed as the product says")
    func ofAProduct() async throws {
        let simulator = try Simulator()
        let id = try await Self.subscribe(
            simulator, signs: #"{"type":"Subscription Bundle","inAppOwnershipType":"ASSIGNED","price":null}"#)
        try await simulator.control(.post, "clock/advance", #"{"by":"P2M"}"#)
        let told = try await simulator.control(.get, "notifications?bundleId=\(Self.app)")
        struct Told: Decodable { let notifications: [Signed.Notification] }
        let periods = try JSONDecoder().decode(Told.self, from: told).notifications.map {
            DecodedNotification.document(of: $0.signedPayload)?["data"]?["signedTransactionInfo"]
        }
        #expect(periods.count == 3)
        for period in periods {
            #expect(period?["type"]?.string == "Subscription Bundle")
            #expect(period?["inAppOwnershipType"]?.string == "ASSIGNED")
            #expect(period?["originalTransactionId"]?.string == id)
            #expect(period?["price"] == nil && period?["currency"] != nil)
        }
    }

    @Test("a notification of it is sent with its parts replaced, or without one of them")
    func told() async throws {
        let simulator = try Simulator()
        let id = try await Self.subscribe(simulator)
        let signed = try await Self.sign(
            simulator, id,
            #"""
            {"renewalInfo":{"autoRenewStatus":0},"notification":{"notificationType":"DID_CHANGE_RENEWAL_STATUS",
            "subtype":"AUTO_RENEW_DISABLED","data":{"signedTransactionInfo":null,"status":2}}}
            """#)
        let notification = try #require(signed.notification)
        #expect(notification.notificationType == "DID_CHANGE_RENEWAL_STATUS")
        #expect(notification.subtype == "AUTO_RENEW_DISABLED")
        let data = try #require(DecodedNotification.document(of: notification.signedPayload)?["data"])
        #expect(data["signedTransactionInfo"] == nil && data["status"] == .literal("2"))
        #expect(data["signedRenewalInfo"]?["autoRenewStatus"] == .literal("0"))
        #expect(data["signedRenewalInfo"]?["originalTransactionId"]?.string == id)
        let nameless = try await simulator.request(
            .post, "/simulator/v1/transactions/\(id)/sign", body: #"{"notification":{}}"#)
        #expect(nameless.status == .badRequest)
    }

    @Test("a subscription moves to another original id and back: its period and its renewals follow, earlier ones stay")
    func moves() async throws {
        let simulator = try Simulator()
        let first = try await Self.subscribe(simulator)
        try await simulator.control(.post, "clock/advance", #"{"by":"P1M"}"#)
        let there = try await Self.change(simulator, "subscriptions/\(first)/move", "{}")
        let (other, second) = (there.originalTransactionId, there.transactionId)
        #expect(other != first && second != first)
        let lineItem = try await Self.known(simulator, second)["webOrderLineItemId"]
        #expect(try await Self.known(simulator, second)["originalTransactionId"]?.string == other)
        #expect(try await Self.known(simulator, first)["originalTransactionId"]?.string == first)
        let gone = try await simulator.request(.get, "/simulator/v1/subscriptions/\(first)")
        #expect(gone.status == .notFound)
        try await simulator.control(.post, "clock/advance", #"{"by":"P1M"}"#)
        let third = try await Self.change(simulator, "subscriptions/\(other)/auto-renew", #"{"on":false}"#)
            .transactionId
        #expect(try await Self.known(simulator, third)["originalTransactionId"]?.string == other)
        #expect(try await Self.known(simulator, third)["webOrderLineItemId"] != lineItem)
        let back = try await Self.change(simulator, "subscriptions/\(other)/move", #"{"to":"\#(first)"}"#)
        #expect(back.originalTransactionId == first && back.transactionId == third)
        #expect(try await Self.known(simulator, third)["originalTransactionId"]?.string == first)
        #expect(try await Self.known(simulator, second)["originalTransactionId"]?.string == other)
        let taken = try await simulator.request(
            .post, "/simulator/v1/subscriptions/\(first)/move", body: #"{"to":"\#(first)"}"#)
        #expect(taken.status == .conflict)
    }

    @Test("a receipt's dates have fractions of a second on request, and verifyReceipt reads them")
    func fractions() async throws {
        let simulator = try Simulator()
        _ = try await Self.subscribe(simulator)
        try await simulator.control(.put, "apps/\(Self.app)", #"{"sharedSecret":"secret"}"#)
        struct Receipt: Decodable { let receipt: String }
        let whole = "receipts?bundleId=\(Self.app)&account=alice"
        let answer = try await simulator.control(.get, "\(whole)&fraction=250")
        let receipt = try JSONDecoder().decode(Receipt.self, from: answer).receipt
        let bytes = try #require(Data(base64Encoded: receipt))
        #expect(bytes.range(of: Data(".250Z".utf8)) != nil)
        let verified = try await simulator.request(
            host: .production, .post, "/verifyReceipt", body: #"{"receipt-data":"\#(receipt)","password":"secret"}"#)
        struct Status: Decodable { let status: Int }
        #expect(try JSONDecoder().decode(Status.self, from: verified.json).status == 0)
        let bad = try await simulator.request(.get, "/simulator/v1/\(whole)&fraction=1000")
        #expect(bad.status == .badRequest)
    }
}
