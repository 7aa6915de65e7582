import Foundation
import HTTPTypes
import HummingbirdTesting
import Persistence
import ServiceRuntime
import Testing

@testable import ReceiptIntake

/// Requests to export and to forget, well and badly, with what really came back.
enum ForgetSamples {
    static func all(_ intake: TestIntake, _ database: TestDatabase) async throws -> [SampleRequest.Sample] {
        try await WalletRows(pool: database.pool).grant([("gold", 100)], to: "leaver", order: "9000002")
        var samples: [SampleRequest.Sample] = []
        let player = try TestTokens.hs256(TestTokens.claims("leaver"))
        let query = "?app=\(TestIntake.app)"
        func export(_ account: String, _ query: String = query, token: String? = TestIntake.serverKey) async throws {
            let answer = try await intake.send(.get, "/v1/accounts/\(account)/export\(query)", token: token)
            samples.append(("GET", "/v1/accounts/{id}/export", answer))
        }
        try await export("leaver")
        try await export("nobody-known")
        try await export("leaver", token: player)
        try await export("leaver", token: nil)
        try await export("leaver", "")
        func forget(_ body: String, token: String? = TestIntake.key(.operate)) async throws {
            let answer = try await intake.send(.post, "/v1/accounts/leaver/forget", token: token, body: body)
            samples.append(("POST", "/v1/accounts/{id}/forget", answer))
        }
        let body = #"{"app":"\#(TestIntake.app)"}"#
        try await forget(body)
        let asked = try #require(samples.last)
        let place = try #require(asked.answer.headers[.location])
        for bad in ["{", "{}", #"{"app":"nobody"}"#, #"{"app":"\#(TestIntake.app)","reason":""}"#] {
            try await forget(bad)
        }
        try await forget(body, token: player)
        try await forget(body, token: nil)
        try await forget(body, token: TestIntake.serverKey)
        func status(_ path: String, token: String? = TestIntake.key(.operate)) async throws {
            samples.append(("GET", "/v1/forget-requests/{id}", try await intake.send(.get, path, token: token)))
        }
        try await status(place)
        for request in try await ForgetRequestStore(pool: database.pool).claimDue(limit: 1, lease: .seconds(60)) {
            #expect(try await ForgettingStore(pool: database.pool).advance(request) == .finished)
        }
        try await status(place)
        try await status(place, token: player)
        try await status(place, token: nil)
        try await status("/v1/forget-requests/none\(query)")
        try await status("/v1/forget-requests/none")
        return samples
    }
}
