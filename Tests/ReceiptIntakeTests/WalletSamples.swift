import Foundation
import HTTPTypes
import HummingbirdTesting
import Testing

@testable import ReceiptIntake

/// Requests to spend, well and badly, with what really came back.
enum WalletSamples {
    static func all(_ intake: TestIntake, _ database: TestDatabase) async throws -> [SampleRequest.Sample] {
        let rows = WalletRows(pool: database.pool)
        try await rows.grant([("gold", 100), ("wood", 5)], to: "spender", order: "9000001")
        var samples: [SampleRequest.Sample] = []
        func keep(_ answer: TestIntake.Answer) { samples.append(("POST", "/v1/accounts/{id}/spend", answer)) }
        let body = try TestIntake.spending([("gold", 10), ("wood", 5)], reference: "castle")
        keep(try await intake.spend(body: body, of: "spender", key: "1"))
        keep(try await intake.spend(body: body, of: "spender", key: "1"))
        keep(try await intake.spend([("gold", 11)], of: "spender", key: "1"))
        keep(try await intake.spend([("gold", 91), ("stone", 1)], of: "spender", key: "2"))
        keep(try await intake.spend(body: body, of: "spender", key: nil))
        keep(try await intake.spend(body: body, of: "spender", key: "3", token: nil))
        keep(
            try await intake.spend(
                body: body, of: "spender", key: "3", token: TestTokens.hs256(TestTokens.claims("spender"))))
        keep(try await intake.spend(body: body, of: "%00", key: "3"))
        for bad in [
            "{", "{}", #"{"app":"nobody","items":[]}"#, #"{"app":"com.example.game","items":[{"item":"gold"}]}"#,
        ] {
            keep(try await intake.spend(body: bad, of: "spender", key: "3"))
        }
        return samples
    }
}
