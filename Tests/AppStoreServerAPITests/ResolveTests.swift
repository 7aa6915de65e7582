import AppStoreServerAPI
import Crypto
import Foundation
import NIOHTTP1
import Testing

/// Which environment a bare transaction id belongs to.
@Suite(.serialized)
struct ResolveTests {
    @Test(.enabled(if: Simulator.isThere, Simulator.missing))
    func productionFirstAndTheSandboxOnlyIfProductionHasNone() async throws {
        try await Simulator.run { store in
            let client = try await store.client()
            let real = try #require(try await store.sell("coins").first).transactionId
            let test = try #require(try await store.sell("coins", environment: .sandbox).first).transactionId
            let first = try await client.resolve(transactionId: real, isReleased: true)
            #expect(first.environment == .production)
            let second = try await client.resolve(transactionId: test, isReleased: true)
            #expect(second.environment == .sandbox)
            let told: TransactionClaims = try claims(second.answer.signedTransactionInfo)
            #expect(told.transactionId == test && told.environment == "Sandbox")
            let none = await refusal { try await client.resolve(transactionId: "999", isReleased: true) }
            #expect(none?.category == .notFound && none?.code == .transactionIdNotFound)

            // Nothing but 4040010 leads to the sandbox: it would answer well.
            for fault in [
                #"{"kind":"status","status":404,"body":"htmlPage"}"#, #"{"kind":"status","status":500}"#,
                #"{"kind":"status","status":404,"errorCode":4040001}"#, #"{"kind":"reset"}"#,
                #"{"kind":"status","status":401}"#, #"{"kind":"status","status":400,"errorCode":4040010}"#,
            ] {
                try await store.control(
                    .PUT, "faults", "{\"rules\":[{\"match\":{\"environment\":\"Production\"},\"fault\":\(fault)}]}")
                let error = await refusal { try await client.resolve(transactionId: test, isReleased: true) }
                #expect(error != nil, "\(fault)")
            }
        }
    }

    @Test(.enabled(if: Simulator.isThere, Simulator.missing))
    func anUnreleasedAppIsFoundInTheSandbox() async throws {
        try await Simulator.run { store in
            try await store.control(.PUT, "apps/\(Simulator.bundleId)", "{\"isReleased\":false}")
            let client = try await store.client()
            let test = try #require(try await store.sell("coins", environment: .sandbox).first).transactionId
            let found = try await client.resolve(transactionId: test, isReleased: false)
            #expect(found.environment == .sandbox)
            // Where the app is said to be released, the same 401 is a matter of the configuration.
            let error = await refusal { try await client.resolve(transactionId: test, isReleased: true) }
            #expect(error?.category == .unauthorized && error?.isRetryable == false)
            #expect(error?.message.contains("check the issuer id") == true)

            let stranger = try SigningKey(
                issuerId: "someone", keyId: "ABCDEFGHIJ", pem: P256.Signing.PrivateKey().pemRepresentation)
            let wrong = store.client(key: stranger)
            let refused = await refusal { try await wrong.resolve(transactionId: test, isReleased: false) }
            #expect(refused?.category == .unauthorized)
        }
    }
}
