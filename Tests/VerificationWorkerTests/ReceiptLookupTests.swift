import AppStoreServerAPI
import Foundation
import Messages
import NIOHTTP1
import Pacing
import PurchaseModel
import Testing

@testable import VerificationWorker

@Suite("Receipts and what Apple knows beyond them", .enabled(if: Simulator.isThere, Simulator.missing))
struct ReceiptLookupTests {
    private static let fresh = Setup(receipts: "offline_then_verify_receipt")

    /// A subscription's receipt of the first month, two months later.
    private func subscriber(_ stage: Stage) async throws -> (receipt: String, first: String) {
        try await stage.simulator.control(
            .PUT, "apps/\(SubmissionFixture.app)/products/gold",
            "{\"type\":\"Auto-Renewable Subscription\",\"period\":\"P1M\",\"price\":4990,\"level\":1}")
        let sold = try await stage.simulator.sell("gold", type: "Auto-Renewable Subscription", to: "subscriber")
        let proof = try await stage.simulator.receipt(of: "subscriber")
        try await stage.simulator.control(.POST, "clock/advance", "{\"by\":\"P2M\"}")
        return (proof, try #require(sold.first).transactionId)
    }

    @Test("verifyReceipt adds renewals and refunds to what was verified offline, and takes nothing away")
    func freshness() async throws {
        try await Stage.run { stage in
            let (proof, first) = try await subscriber(stage)
            try await stage.simulator.control(.POST, "transactions/\(first)/refund", "{}")
            let offline = try await stage.finding(receipt(proof))
            #expect(offline.transactions.map(\.transactionId) == [first])
            #expect(offline.transactions.map(\.revocationDate) == [nil])
            let finding = try await stage.finding(receipt(proof, named: first), Self.fresh)
            #expect(finding.transactions.count > 1)
            #expect(finding.claims.ids == [first], "the rest of its lineage is told, and not proven by this receipt")
            let updated = try #require(finding.transactions.first { $0.transactionId == first })
            #expect(updated.revocationDate != nil)
            #expect(updated.productType == .autoRenewable)
            #expect(updated.evidence == offline.transactions.first?.evidence)
            #expect(Set(finding.transactions.map(\.originalTransactionId)) == [first])
        }
    }

    @Test("A refusal offline is final: Apple is not asked")
    func refusedOffline() async throws {
        try await Stage.run { stage in
            let forged = try await stage.simulator.attack("receipt_self_made")
            try await stage.simulator.misbehave("{\"kind\":\"latency\",\"ms\":1}")
            for receipts in ["offline_then_verify_receipt", "verify_receipt"] {
                let finding = try await stage.finding(receipt(forged), Setup(receipts: receipts))
                #expect(finding.reason == "root_not_trusted", "\(receipts)")
            }
            let junk = try await stage.finding(receipt("bm9uZQ=="), Setup(receipts: "verify_receipt"))
            #expect(junk.reason == "not_a_receipt")
            #expect(try await stage.simulator.requestsSeen() == 0)
        }
    }

    @Test("A slow verifyReceipt holds nothing up: what was verified offline stands")
    func slow() async throws {
        try await Stage.run { stage in
            let (proof, sold) = try await stage.purchase("slow")
            try await stage.simulator.misbehave("{\"kind\":\"hang\"}")
            let setup = Setup(receipts: "offline_then_verify_receipt", patience: .milliseconds(200))
            let finding = try await stage.finding(receipt(proof), setup)
            #expect(finding.transactions.map(\.transactionId) == sold.map(\.transactionId))
            let judged = Setup(receipts: "verify_receipt", patience: .milliseconds(200))
            #expect(try await stage.finding(receipt(proof), judged).reason == "app_store_slow")
        }
    }

    @Test("While Apple is away, what stands offline is not handed over")
    func paused() async throws {
        try await Stage.run { stage in
            let (proof, _) = try await stage.purchase("paused")
            try await stage.withAccess(Self.fresh) { access in
                let submissions = [
                    receipt(proof), asked("2000000000000001"), receipt(proof, named: "2000000099999999"),
                ]
                for isPaused in [true, false] {
                    let judge = JudgeSubmissions(
                        judge: access.judge.offline, proofs: ProofReader(pool: nil, logger: Stage.quiet),
                        revocation: nil, isPaused: { isPaused })
                    let settled = await judge.findings(for: submissions).map { $0 != nil }
                    // Nothing stands of a bare id, or of a purchase that is missing.
                    #expect(settled == [isPaused, false, false])
                }
            }
        }
    }

    @Test("A receipt is asked about once at a time, and a valid answer is remembered")
    func singleFlight() async throws {
        try await Stage.run { stage in
            let (proof, _) = try await stage.purchase("flight")
            try await stage.simulator.misbehave("{\"kind\":\"latency\",\"ms\":300}")
            try await stage.withAccess(Setup(receipts: "verify_receipt")) { access in
                let batch = JudgeLookups(
                    judge: access.judge, proofs: ProofReader(pool: nil, logger: Stage.quiet), inFlightMaximum: 100)
                for _ in 0..<2 {
                    let findings = await batch.findings(for: (0..<50).map { _ in receipt(proof) })
                    #expect(findings.allSatisfy { $0.name == "genuine" })
                }
            }
            #expect(try await stage.simulator.requestsSeen() == 1)
        }
    }

    @Test("A shared secret goes along, and a wrong one is nobody's fault but ours")
    func sharedSecret() async throws {
        try await Stage.run { stage in
            let (proof, _) = try await subscriber(stage)
            try await stage.simulator.control(
                .PUT, "apps/\(SubmissionFixture.app)", "{\"sharedSecret\":\"0123456789abcdef0123456789abcdef\"}")
            var setup = Setup(receipts: "verify_receipt", sharedSecret: "0123456789abcdef0123456789abcdef")
            #expect(try await stage.finding(receipt(proof), setup).name == "genuine")
            setup.sharedSecret = "wrong"
            #expect(try await stage.finding(receipt(proof), setup).reason == "shared_secret_mismatch")
        }
    }
}
