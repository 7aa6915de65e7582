import AppStore
import Foundation
import Testing
import VectorTesting

/// Whether rates are asked for.
enum ReceiptBenchmark {
    /// Only who asks for it waits for it.
    static let isWanted = ProcessInfo.processInfo.environment["COUNTERSIGN_BENCHMARK"] == "1"
}

/// Says how many receipts a second are verified and read; `Tests/Benchmarks/receipts` runs it beside openssl.
@Suite(
    "Receipt benchmark",
    .enabled(if: ReceiptBenchmark.isWanted && Vectors.areAvailable, "SKIPPED: Tests/Benchmarks/receipts runs it"))
struct ReceiptBenchmarkTests {
    private static let rounds = 5
    private static let receiptsOfRound = 1_000

    @Test("the receipt with most purchases, again and again")
    func rate() throws {
        let vector = try #require(ReceiptVectors.genuine.max { $0.expected.inAppCount < $1.expected.inAppCount })
        let app = AppIdentity(bundleId: vector.expected.bundleId)
        for (form, bytes) in [("DER", try vector.der), ("base64", try vector.base64)] {
            let verifier = ReceiptVerifier(roots: .appleRoot)
            var best = Duration.seconds(3_600)
            var purchases = 0
            for _ in 0..<Self.rounds {
                let elapsed = ContinuousClock().measure {
                    for _ in 0..<Self.receiptsOfRound {
                        guard case .success(let receipt) = verifier.receipt(bytes, app: app) else { continue }
                        purchases += receipt.purchases.count
                    }
                }
                best = min(best, elapsed)
            }
            #expect(purchases == Self.rounds * Self.receiptsOfRound * vector.expected.inAppCount)
            let rate = Double(Self.receiptsOfRound) / (best / Duration.seconds(1))
            let line = "countersign \(form) \(Int(rate)) receipts/s of \(vector.expected.inAppCount) purchases\n"
            FileHandle.standardOutput.write(Data(line.utf8))
        }
    }
}
