import Crypto
import Foundation
import HTTPTypes
import HummingbirdTesting
import ServiceRuntime
import Testing

@testable import ReceiptIntake

/// The game's key for offers, and requests to sign some.
enum OfferSamples {
    static let key = P256.Signing.PrivateKey()
    static let keyId = "8KQ2M4X7P1"
    static let issuerId = "57246542-96fe-1a63-e053-0824d011072a"
    /// The offer that every player may have signed.
    static let forPlayers = "comeback"
    /// A variable of the environment, where the apps file finds the key.
    static let variable = "OFFER_KEY"
    static let environment = [variable: key.pemRepresentation]
    static let backend = TestIntake.key(.sign)

    /// The part of the apps file.
    static let setting = """
        { issuer_id: \(issuerId), key_id: \(keyId), private_key_env: \(variable), player_offers: [\(forPlayers)] }
        """

    /// Asks well and badly.
    static func all(_ intake: TestIntake) async throws -> [SampleRequest.Sample] {
        let player = try TestTokens.hs256(TestTokens.claims("player-1"))
        var answers = [
            try await intake.sign(["offer_id": forPlayers], as: player),
            try await intake.sign(["offer_id": "secret", "app_account_token": UUID().uuidString], as: backend),
            try await intake.sign(["allow_introductory_offer": true, "transaction_id": "7"], as: backend),
            try await intake.sign(["offer_id": "secret"], as: player), try await intake.sign([:], as: backend),
            try await intake.sign(["offer_id": "x"], as: "csk_wrong"),
        ]
        for (body, type) in [("{", "application/json"), ("{}", "text/plain")] {
            answers.append(
                try await intake.send(
                    .post, "/v1/offer-signatures", token: player, body: body, headers: [.contentType: type]))
        }
        for _ in 0...30 {
            let answer = try await intake.sign(["offer_id": forPlayers], as: player)
            if answer.status == 429 { answers.append(answer) }
        }
        return answers.map { ("POST", "/v1/offer-signatures", $0) }
    }
}

extension TestIntake {
    /// Has an offer of the pass signed.
    func sign(_ fields: [String: Any], as token: String?, app: String = Self.app) async throws -> Answer {
        let body = try JSONSerialization.data(
            withJSONObject: fields.merging(["app": app, "product_id": "pass.year"]) { given, _ in given })
        return try await send(
            .post, "/v1/offer-signatures", token: token, body: String(decoding: body, as: UTF8.self))
    }
}
