import Foundation
import HTTPTypes
import HummingbirdTesting
import Testing

@testable import AppStoreSimulator

@Suite("Control API: signed anew with other fields")
struct SignRouteTests {
    private struct Signed: Decodable {
        let signedTransaction: String
        let signedRenewalInfo: String?
    }

    private static let app = "com.example.late"

    private static func subscribe(_ simulator: borrowing Simulator) async throws -> String {
        try await simulator.control(.put, "apps/\(app)", "{}")
        try await simulator.control(
            .put, "apps/\(app)/products/vip",
            #"{"type":"Auto-Renewable Subscription","period":"P1M"}"#)
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
}
