import AppStore
import Crypto
import Foundation
import Testing

@testable import AppStoreSimulator

/// What a signed transaction costs beside its signature alone; run by `Tests/Benchmarks/signed-transactions`.
@Suite(
    "Signed transaction benchmark",
    .enabled(
        if: ProcessInfo.processInfo.environment["COUNTERSIGN_BENCHMARK"] == "1",
        "SKIPPED: Tests/Benchmarks/signed-transactions runs it"))
struct SignedTransactionBenchmark {
    private enum Measure {
        /// Verified in turn, so that no payload is in the processor's caches only because it is the same.
        static let transactions = 200
        /// Each way is measured so often, the two by turns, so that what slows the machine slows both.
        static let rounds = 41
        /// Times that all transactions are verified in a round: about a tenth of a second.
        static let repetitions = 5
    }

    /// A signature as the bare check sees it: digested before.
    private struct Signed {
        let digest: SHA256Digest
        let signature: P256.Signing.ECDSASignature
    }

    @Test("verified transactions and bare signatures per second, on one core")
    func rate() throws {
        let store = try #require(SimulatedStore.shared)
        let signed = try (0..<Measure.transactions).map { try store.sign(Self.payload($0)) }
        let bare = try signed.map { try Self.bare($0) }
        let key = store.authority.leafKey.publicKey
        let verifier = store.verifier
        var good = 0
        var rates: [(verified: Double, bare: Double)] = []
        // The first round is not counted: it fills the caches.
        for round in 0...Measure.rounds {
            let verified = Self.rate {
                for jws in signed {
                    if case .success = verifier.transaction(jws, app: SimulatedStore.app) { good += 1 }
                }
            }
            let checked = Self.rate {
                for item in bare where key.isValidSignature(item.signature, for: item.digest) { good += 1 }
            }
            if round > 0 { rates.append((verified, checked)) }
        }
        #expect(good == 2 * (Measure.rounds + 1) * Measure.repetitions * Measure.transactions)
        #expect(verifier.chainsCached == 1)
        let line = """
            signed transactions: \(Int(Self.median(rates.map(\.verified))))/s verified, \
            \(Int(Self.median(rates.map(\.bare))))/s bare P-256 checks, \
            ratio \(String(format: "%.3f", Self.median(rates.map { $0.verified / $0.bare }))) \
            (median of \(rates.count) rounds, one core, \(signed[0].count) bytes each)\n
            """
        FileHandle.standardOutput.write(Data(line.utf8))
    }

    /// A subscription's transaction, with all the fields that Apple signed in 2025.
    private static func payload(_ index: Int) -> String {
        let id = "\"\(2_000_001_030_000_000 + index)\""
        return SimulatedStore.payload([
            "transactionId": id, "originalTransactionId": "\"2000001024993299\"",
            "webOrderLineItemId": "\"2000000114930653\"", "productId": "\"com.example.game.premium\"",
            "subscriptionGroupIdentifier": "\"21752814\"", "originalPurchaseDate": "1759301833000",
            "expiresDate": "1790000309000", "type": "\"Auto-Renewable Subscription\"",
            "appAccountToken": "\"207262da-1ac8-4e0a-a399-5aa62a82800f\"", "transactionReason": "\"PURCHASE\"",
            "storefront": "\"AUS\"", "storefrontId": "\"143460\"", "price": "1990", "currency": "\"AUD\"",
            "appTransactionId": "\"704897469903383919\"",
        ])
    }

    private static func bare(_ jws: [UInt8]) throws -> Signed {
        let dot = try #require(jws.lastIndex(of: UInt8(ascii: ".")))
        let text =
            String(decoding: jws[(dot + 1)...], as: UTF8.self)
            .replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/") + "=="
        let raw = try #require(Data(base64Encoded: text))
        return Signed(
            digest: SHA256.hash(data: jws[..<dot]),
            signature: try P256.Signing.ECDSASignature(rawRepresentation: raw))
    }

    /// How many of the transactions are done in a second.
    private static func rate(_ body: () -> Void) -> Double {
        let duration = ContinuousClock().measure { for _ in 0..<Measure.repetitions { body() } }
        return Double(Measure.repetitions * Measure.transactions) / (duration / .seconds(1))
    }

    private static func median(_ values: [Double]) -> Double {
        let sorted = values.sorted()
        return sorted[sorted.count / 2]
    }
}
