import Foundation
import HTTPTypes
import HummingbirdTesting
import Persistence
import ServiceRuntime
import Testing

@testable import ReceiptIntake

@Suite("Consents", .enabled(if: TestDatabase.serverURL != nil, TestDatabase.skipComment), .timeLimit(.minutes(1)))
struct ConsentRoutesTests {
    private static let path = "/v1/accounts/player-1/consent"

    private static func body(_ consented: String) -> String {
        #"{"app":"\#(TestIntake.app)","consented":\#(consented)}"#
    }

    private static func told(_ intake: TestIntake) async throws -> [String: Any]? {
        let answer = try await intake.send(
            .get, "/v1/accounts/player-1?app=\(TestIntake.app)", token: TestIntake.serverKey)
        return answer.fields["consent"] as? [String: Any]
    }

    @Test("a consent is told with the account, from when it was given; saying it again changes nothing")
    func givenAndTakenBack() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { intake in
                #expect(try await Self.told(intake) == nil)
                let given = try await intake.send(.put, Self.path, token: TestIntake.serverKey, body: Self.body("true"))
                #expect(given.status == 200)
                #expect(given.fields["consented"] as? Bool == true)
                let again = try await intake.send(.put, Self.path, token: TestIntake.serverKey, body: Self.body("true"))
                #expect(again.fields["changed_at"] as? String == given.fields["changed_at"] as? String)
                #expect(try await Self.told(intake)?["consented"] as? Bool == true)
                #expect(try await Self.told(intake)?["changed_at"] as? String == given.fields["changed_at"] as? String)
                let player = try TestTokens.hs256(TestTokens.claims("player-1"))
                let back = try await intake.send(.put, Self.path, token: player, body: Self.body("false"))
                #expect(back.status == 200)
                #expect(try await Self.told(intake)?["consented"] as? Bool == false)
            }
        }
    }

    @Test("nobody speaks for another player, and a consent is true or false")
    func refusals() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { intake in
                let other = try TestTokens.hs256(TestTokens.claims("player-2"))
                #expect(try await intake.send(.put, Self.path, token: other, body: Self.body("true")).status == 404)
                for bad in ["\"yes\"", "1", "null"] {
                    let answer = try await intake.send(
                        .put, Self.path, token: TestIntake.serverKey, body: Self.body(bad))
                    #expect(answer.status == 422 || answer.status == 400, "\(bad): \(answer.status)")
                    #expect(bad == "null" || answer.text.contains("must be true or false"), "\(answer.text)")
                }
                #expect(try await Self.told(intake) == nil)
            }
        }
    }
}

/// Requests about consents, well and badly, with what really came back.
enum ConsentSamples {
    static func all(_ intake: TestIntake) async throws -> [SampleRequest.Sample] {
        var samples: [SampleRequest.Sample] = []
        func put(_ body: String, token: String? = TestIntake.serverKey) async throws {
            let answer = try await intake.send(.put, "/v1/accounts/agrees/consent", token: token, body: body)
            samples.append(("PUT", "/v1/accounts/{id}/consent", answer))
        }
        let body = #"{"app":"\#(TestIntake.app)","consented":true}"#
        try await put(body)
        for bad in ["{", "{}", #"{"app":"nobody","consented":true}"#, #"{"app":"\#(TestIntake.app)"}"#] {
            try await put(bad)
        }
        try await put(body, token: try TestTokens.hs256(TestTokens.claims("another")))
        try await put(body, token: nil)
        try await put(body, token: TestIntake.key(.read))
        let read = "/v1/accounts/agrees?app=\(TestIntake.app)"
        samples.append(("GET", "/v1/accounts/{id}", try await intake.send(.get, read, token: TestIntake.serverKey)))
        return samples
    }
}
