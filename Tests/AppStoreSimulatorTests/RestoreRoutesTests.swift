import AppStore
import Foundation
import HTTPTypes
import HummingbirdTesting
import Testing

@testable import AppStoreSimulator

@Suite("Control API: restores, further grants, family members' copies")
struct RestoreRoutesTests {
    private struct Listed: Decodable {
        struct Transaction: Decodable {
            let transactionId: String
            let originalTransactionId: String
            let webOrderLineItemId: String?
            let signedTransaction: String
        }
        let outcome: String?
        let transactions: [Transaction]
    }

    private struct Shown: Decodable {
        let account: String
        let device: String?
        let purchaseTransactionIds: [String]
        let sharedFromTransactionId: String?
    }

    private static let app = "com.example.club"

    /// Makes a family whose two members have a phone each, and returns what the first of them bought.
    private static func furnish(_ simulator: borrowing Simulator) async throws -> (month: String, map: String) {
        try await simulator.control(.put, "apps/\(app)", #"{"familyWebOrderLineItem":"none"}"#)
        for (product, type) in [("vip", "Auto-Renewable Subscription"), ("map", "Non-Consumable")] {
            try await simulator.control(
                .put, "apps/\(app)/products/\(product)", #"{"type":"\#(type)","isFamilyShareable":true}"#)
        }
        try await simulator.control(.put, "apps/\(app)/products/coins", #"{"type":"Consumable"}"#)
        for account in ["mother", "son"] {
            try await simulator.control(.put, "accounts/\(account)", #"{"family":"millers"}"#)
            try await simulator.control(.put, "devices/\(account)s-phone", #"{"account":"\#(account)"}"#)
        }
        var ids: [String] = []
        for product in ["vip", "map"] {
            ids += try await simulator.sell(#"{"bundleId":"\#(app)","productId":"\#(product)","account":"mother"}"#)
                .map(\.transactionId)
        }
        return (ids[0], ids[1])
    }

    private static func list(_ data: Data) throws -> Listed { try JSONDecoder().decode(Listed.self, from: data) }

    @Test("a refund may mark every id; a member's copy is stopped and shared again")
    func taken() async throws {
        let simulator = try Simulator()
        let (month, _) = try await Self.furnish(simulator)
        let query = "devices/sons-phone/transactions?bundleId=\(Self.app)"
        let copies = try Self.list(try await simulator.control(.get, query)).transactions
        #expect(copies.count == 2 && copies.allSatisfy { $0.webOrderLineItemId == nil })
        try await simulator.control(
            .post, "transactions/\(copies[0].transactionId)/stop-sharing", #"{"revokes":"everyTransaction"}"#)
        let shared = try Self.list(
            try await simulator.control(
                .post, "transactions/\(month)/family-share", #"{"account":"son","webOrderLineItem":"own"}"#))
        #expect(shared.outcome == "shared" && shared.transactions.count == 1)
        #expect(shared.transactions[0].webOrderLineItemId != nil)
        let shown = try JSONDecoder().decode(
            Shown.self, from: try await simulator.control(.get, "transactions/\(shared.transactions[0].transactionId)"))
        #expect(shown.account == "son" && shown.sharedFromTransactionId == month)
        let granted = try Self.list(try await simulator.control(.post, "transactions/\(month)/regrant"))
        try await simulator.control(
            .post, "transactions/\(granted.transactions[0].transactionId)/refund", #"{"revokes":"everyTransaction"}"#)
        for id in [month, granted.transactions[0].transactionId, shared.transactions[0].transactionId] {
            let answer = try await simulator.control(.get, "transactions/\(id)")
            #expect(String(decoding: answer, as: UTF8.self).contains("revocationDate"), "\(id)")
        }
        try await simulator.control(.post, "accounts/son/leave-family", #"{"revokes":"everyTransaction"}"#)
    }

    @Test("what cannot be is a problem that says why")
    func problems() async throws {
        let simulator = try Simulator()
        let (month, map) = try await Self.furnish(simulator)
        let coins = try await simulator.sell(#"{"bundleId":"\#(Self.app)","productId":"coins","account":"mother"}"#)[0]
        let phone = "devices/mothers-phone"
        let cases: [(HTTPRequest.Method, String, String?, Int, String)] = [
            (.post, "\(phone)/restore", nil, 400, "bundleId: missing"),
            (.post, "\(phone)/restore", #"{"bundleId":"com.example.none"}"#, 404, "no app com.example.none"),
            (.post, "devices/toaster/restore", #"{"bundleId":"\#(Self.app)"}"#, 404, "no device toaster"),
            (
                .post, "\(phone)/restore", #"{"bundleId":"\#(Self.app)","purchaseDate":"now"}"#, 400,
                "purchaseDate: purchase, restore"
            ),
            (
                .post, "\(phone)/restore", #"{"bundleId":"\#(Self.app)","originalPurchaseDate":1}"#, 400,
                "originalPurchaseDate: of the wrong type"
            ),
            (
                .post, "\(phone)/restore", #"{"bundleId":"\#(Self.app)","environment":"Xcode"}"#, 400,
                "environment: Production, Sandbox"
            ),
            (.get, "\(phone)/transactions", nil, 400, "bundleId: missing"),
            (.get, "devices/toaster/transactions?bundleId=\(Self.app)", nil, 404, "no device toaster"),
            (.post, "transactions/1/regrant", nil, 404, "no transaction 1"),
            (.post, "transactions/\(coins.transactionId)/regrant", nil, 409, "one transaction id"),
            (.post, "transactions/\(map)/regrant", #"{"count":0}"#, 400, "count: 1 to 100"),
            (.post, "transactions/\(map)/regrant", #"{"device":"sons-phone"}"#, 409, "device: sons-phone"),
            (.post, "transactions/\(map)/family-share", nil, 400, "account: missing"),
            (.post, "transactions/\(map)/family-share", #"{"account":"eve"}"#, 409, "not in the family"),
            (.post, "transactions/\(map)/family-share", #"{"account":"son"}"#, 409, "son has it already"),
            (
                .post, "transactions/\(map)/family-share", #"{"account":"son","webOrderLineItem":"same"}"#, 400,
                "webOrderLineItem: own, none"
            ),
            (.post, "transactions/\(month)/stop-sharing", nil, 409, "not a family member's"),
            (
                .post, "transactions/\(map)/refund", #"{"revokes":"some"}"#, 400,
                "revokes: namedTransaction, everyTransaction"
            ),
            (.post, "accounts/son/leave-family", #"{"revokes":"some"}"#, 400, "revokes: namedTransaction"),
            (.put, "apps/\(Self.app)", #"{"familyWebOrderLineItem":"same"}"#, 400, "familyWebOrderLineItem: own, none"),
        ]
        for (method, path, body, status, detail) in cases {
            let response = try await simulator.request(method, "/simulator/v1/\(path)", body: body)
            #expect(response.status.code == status, "\(path) \(body ?? "")")
            let problem = try JSONDecoder().decode(Simulator.ProblemDetails.self, from: response.json)
            #expect(problem.detail.contains(detail), "\(path): \(problem.detail)")
        }
        // What was refused changed nothing.
        let seen = try Self.list(try await simulator.control(.get, "\(phone)/transactions?bundleId=\(Self.app)"))
        #expect(seen.transactions.map(\.transactionId) == [month, map, coins.transactionId])
    }
}
