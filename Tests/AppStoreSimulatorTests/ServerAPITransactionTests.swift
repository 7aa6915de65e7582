import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import Testing

@testable import AppStoreSimulator

@Suite("Server API: transactions")
struct ServerAPITransactionTests {
    struct Info: Decodable { let signedTransactionInfo: String }
    private static let token = "6d1f4d6c-9f8c-4d52-9b1a-8a3a5a0e7c11"

    /// Paths about one transaction, with a body where one is needed.
    private static func calls(_ id: String) -> [(HTTPRequest.Method, String, String?)] {
        [
            (.get, "v1/transactions/\(id)", nil), (.post, "v1/transactions/\(id)/finish", nil),
            (.put, "v2/transactions/consumption/\(id)", ServerAPIConsumptionTests.goodV2),
            (.put, "v1/transactions/consumption/\(id)", ServerAPIConsumptionTests.goodV1),
        ]
    }

    /// Paths about a customer.
    private static func customerCalls(_ id: String) -> [(HTTPRequest.Method, String, String?)] {
        [
            (.get, "v2/history/\(id)", nil), (.get, "v1/subscriptions/\(id)", nil),
            (.get, "v2/refund/lookup/\(id)", nil), (.get, "v1/transactions/appTransactions/\(id)", nil),
        ]
    }

    @Test("a transaction comes signed, and is signed again only when it changed or a minute went by")
    func info() async throws {
        let shop = try await ServerAPIShop()
        let id = try await shop.buy("coins")
        let api = ServerAPI(
            store: shop.store, environment: .production, signer: shop.signer, limiter: shop.limiter)
        func signed() async throws -> String {
            try api.signatures.signed(try await shop.transaction(id), now: shop.clock.now)
        }
        let answer = try await shop.get(Info.self, .get, "v1/transactions/\(id)")
        let fields = try SignedFields(answer.signedTransactionInfo)
        #expect(fields.transactionId == id)
        #expect(fields.signedDate == shop.clock.now)
        let first = try await signed()
        shop.time.step(59_999)
        #expect(try await signed() == first)
        shop.time.step(1)
        let second = try await signed()
        #expect(second != first)
        try await shop.edit(id) { $0.appAccountToken = Self.token }
        #expect(try SignedFields(try await signed()).appAccountToken == Self.token)
        await shop.store.close()
    }

    @Test("no call knows an id of the other environment, of another app, or of nobody")
    func unknown() async throws {
        let shop = try await ServerAPIShop()
        let here = try await shop.buy("coins")
        let sandbox = try await shop.buy("coins", in: .sandbox)
        let foreign = try await shop.store.change { state, now in
            var row = try #require(state.transactions[here])
            row.transactionId = "2000000000999999"
            row.originalTransactionId = row.transactionId
            row.bundleId = "com.example.other"
            state.put(row, now: now)
            return row.id
        }
        for id in [sandbox, foreign, "999"] {
            for (method, path, body) in Self.calls(id) + Self.customerCalls(id) {
                #expect(try await shop.refusal(method, path, body) == 4_040_010, "\(path)")
            }
            #expect(
                try await shop.refusal(
                    .put, "v1/transactions/\(id)/appAccountToken", #"{"appAccountToken":"\#(Self.token)"}"#)
                    == 4_040_005)
        }
        #expect(try await shop.call(.get, "v1/transactions/\(here)").status == .ok)
        #expect(try await shop.call(.get, "v1/transactions/\(sandbox)", in: .sandbox).status == .ok)
        #expect(try await shop.refusal(.get, "v1/transactions/\(here)", in: .sandbox) == 4_040_010)
        await shop.store.close()
    }

    @Test("what is no id is malformed")
    func malformed() async throws {
        let shop = try await ServerAPIShop()
        for id in ["x", "-1", "1e5", "123456789012345678901", "%20", "1%2F2"] {
            for (method, path, body) in Self.calls(id) + Self.customerCalls(id) {
                #expect(try await shop.refusal(method, path, body) == 4_000_006, "\(path)")
            }
        }
        await shop.store.close()
    }

    @Test("an app transaction's id names a customer, not a transaction")
    func appTransactionId() async throws {
        let shop = try await ServerAPIShop()
        let id = try await shop.buy("coins")
        let app = try #require(try await shop.transaction(id).appTransactionId)
        for (method, path, _) in Self.customerCalls(app) {
            #expect(try await shop.call(method, path).status == .ok, "\(path)")
        }
        for (method, path, body) in Self.calls(app) {
            #expect(try await shop.refusal(method, path, body) == 4_000_048, "\(path)")
        }
        let token = #"{"appAccountToken":"\#(Self.token)"}"#
        #expect(try await shop.refusal(.put, "v1/transactions/\(app)/appAccountToken", token) == 4_000_048)
        await shop.store.close()
    }

    @Test("a customer whose account is deleted is not found")
    func deleted() async throws {
        let shop = try await ServerAPIShop()
        let id = try await shop.buy("coins")
        try await shop.store.change { state, _ in
            var account = state.account("alice")
            account.isDeleted = true
            state.put(account)
        }
        for (method, path, _) in Self.customerCalls(id) {
            #expect(try await shop.refusal(method, path) == 4_040_001, "\(path)")
        }
        await shop.store.close()
    }
}

@Suite("Server API: app account token")
struct ServerAPIAppAccountTokenTests {
    private static let token = "6D1F4D6C-9F8C-4D52-9B1A-8A3A5A0E7C11"
    private static let body = #"{"appAccountToken":"\#(token)"}"#

    @Test("it is set at once on the original, and on the renewals that follow")
    func set() async throws {
        let shop = try await ServerAPIShop()
        let id = try await shop.buy("gold")
        try await shop.step(40 * 86_400_000)
        let response = try await shop.call(.put, "v1/transactions/\(id)/appAccountToken", Self.body)
        #expect(response.status == .ok)
        #expect(try await shop.transaction(id).appAccountToken == Self.token.lowercased())
        try await shop.step(31 * 86_400_000)
        let lineage = await shop.store.read { state in
            state.lineages[id, default: []].compactMap { state.transactions[$0]?.appAccountToken }
        }
        // The first and the third period; the second had begun before.
        #expect(lineage == [Self.token.lowercased(), Self.token.lowercased()])
        let count = await shop.store.read { $0.lineages[id]?.count }
        #expect(count == 3)
        await shop.store.close()
    }

    @Test("what is no UUID, no original transaction, or the family's is refused")
    func refused() async throws {
        let shop = try await ServerAPIShop()
        let id = try await shop.buy("gold")
        let path = "v1/transactions/\(id)/appAccountToken"
        for body in ["{}", #"{"appAccountToken":""}"#, #"{"appAccountToken":"me"}"#, #"{"appAccountToken":1}"#] {
            #expect(try await shop.refusal(.put, path, body) == 4_000_183, "\(body)")
        }
        for body in [nil, "", "[]", "{", String(repeating: " ", count: 70_000)] {
            #expect(try await shop.refusal(.put, path, body) == 4_000_000)
        }
        try await shop.step(32 * 86_400_000)
        let renewal = try #require(await shop.store.read { $0.lineages[id]?.last })
        #expect(renewal != id)
        #expect(try await shop.refusal(.put, "v1/transactions/\(renewal)/appAccountToken", Self.body) == 4_000_187)
        try await shop.edit(id) { $0.isFamilyShared = true }
        #expect(try await shop.refusal(.put, path, Self.body) == 4_000_185)
        #expect(try await shop.refusal(.put, "v1/transactions/x/appAccountToken", Self.body) == 4_000_006)
        #expect(try await shop.refusal(.put, "v1/transactions/999/appAccountToken", Self.body) == 4_040_005)
        await shop.store.close()
    }
}
