import AppStoreServerAPI
import Foundation
import Messages
import NIOHTTP1
import PurchaseModel
import Testing

@testable import VerificationWorker

/// An app whose receipts Apple judges.
private let asking = Setup(receipts: "verify_receipt")
/// One whose receipts are read here first.
private let offlineFirst = Setup(receipts: "offline_then_verify_receipt")

extension Stage {
    /// What becomes of a genuine receipt while verifyReceipt answers with a status.
    fileprivate func demanded(
        _ status: Int, attempt: Int = 0, in environment: AppStoreEnvironment = .production, isRetryable: Bool? = nil,
        receivedAt: Date? = nil, setup: Setup = asking
    ) async throws -> Finding {
        let account = "demanded-\(UUID().uuidString)"
        try await simulator.sell(to: account, environment: environment)
        let proof = try await simulator.receipt(of: account, environment: environment)
        let retryable = isRetryable.map { ",\"isRetryable\":\($0)" } ?? ""
        try await simulator.control(
            .PUT, "verify-receipt",
            "{\"status\":\(status),\"environment\":\"\(environment.rawValue)\"\(retryable)}")
        return try await finding(receipt(proof, attempt: attempt, receivedAt: receivedAt), setup)
    }

    /// What becomes of a genuine receipt while something goes wrong on the way.
    fileprivate func disturbed(_ fault: String, _ setup: Setup = asking) async throws -> Finding {
        let (proof, _) = try await purchase("disturbed")
        try await simulator.misbehave(fault)
        return try await finding(receipt(proof), setup)
    }
}

/// The rows of `verifyReceipt`.
let verifyReceiptScenarios: [String: Scenario] = validAnswers.merging(refusingAnswers) { first, _ in first }
    .merging(unclearAnswers) { first, _ in first }

private let validAnswers: [String: Scenario] = [
    "verifyReceipt: 0: valid": { stage in
        let (proof, sold) = try await stage.purchase("valid")
        let finding = try await stage.finding(receipt(proof), asking)
        #expect(finding.transactions.map(\.transactionId) == sold.map(\.transactionId))
        #expect(finding.transactions.map(\.environment) == [.production])
        #expect(finding.transactions.map(\.bundleId) == [SubmissionFixture.app])
        #expect(finding.transactions.first?.evidence?.contains("verifyReceipt") == true)
        return finding
    },
    "verifyReceipt: it lists the named transaction, which the receipt lacks": { stage in
        let (proof, first, renewal) = try await stage.renewed()
        for receipts in ["offline_then_verify_receipt", "verify_receipt"] {
            let finding = try await stage.finding(receipt(proof, named: renewal), Setup(receipts: receipts))
            #expect(finding.transactions.map(\.transactionId) == [first, renewal], "\(receipts)")
            #expect(finding.claims.ids == [first] && !finding.claims.areUnproven, "\(receipts)")
            let unnamed = try await stage.finding(receipt(proof), Setup(receipts: receipts))
            #expect(unnamed.claims.ids == [first] && !unnamed.claims.areUnproven, "\(receipts)")
            let made = try await stage.finding(receipt(proof)).proofSignedDate
            #expect(made != nil && finding.proofSignedDate == made, "\(receipts): an old receipt stays old")
            let trusting = Setup(receipts: receipts, possession: "number")
            #expect(try await stage.finding(receipt(proof), trusting).claims.ids == nil, "\(receipts)")
        }
        return try await stage.finding(receipt(proof, named: renewal), asking)
    },
    "verifyReceipt: 0, of a receipt of Apple's that cannot be read here": { stage in
        let proof = try await stage.simulator.attack("receipt_with_attribute_twice")
        let finding = try await stage.finding(receipt(proof), offlineFirst)
        #expect(!finding.transactions.isEmpty)
        #expect(try await stage.finding(receipt(proof)).reason == "field_invalid")
        return finding
    },
    "verifyReceipt: 0, and it reads a purchase that cannot be read here": { stage in
        let proof = try await stage.simulator.attack("receipt_with_unreadable_purchase")
        let read = try await stage.finding(receipt(proof)).transactions.map(\.transactionId)
        let finding = try await stage.finding(receipt(proof), offlineFirst)
        let hidden = finding.transactions.map(\.transactionId).filter { !read.contains($0) }
        #expect(hidden.count == 1)
        let named = try await stage.finding(receipt(proof, named: hidden.first), offlineFirst)
        #expect(named.claims.ids == hidden && !named.claims.areUnproven, "it stands in the signed bytes")
        return finding
    },
    "verifyReceipt: 21006: valid, its subscription expired": { try await $0.demanded(21_006) },
    "verifyReceipt: 21007: the sandbox vouches for it": { stage in
        let account = "sandbox-\(UUID().uuidString)"
        try await stage.simulator.sell(to: account, environment: .sandbox)
        let proof = try await stage.simulator.receipt(of: account, environment: .sandbox)
        let finding = try await stage.finding(receipt(proof), asking)
        #expect(finding.transactions.map(\.environment) == [.sandbox])
        return finding
    },
    "verifyReceipt: 21008: production vouches for it": { stage in
        let (proof, _) = try await stage.purchase("production")
        let submission = SubmissionFixture.make(.receipt, proof, expected: .sandbox)
        let finding = try await stage.finding(submission, asking)
        #expect(finding.transactions.map(\.environment) == [.production])
        return finding
    },
    "verifyReceipt: any trouble, and the receipt was verified offline": { stage in
        for fault in ["{\"kind\":\"status\",\"status\":503}", "{\"kind\":\"status\",\"status\":429}"] {
            #expect(try await stage.disturbed(fault, offlineFirst).name == "genuine")
            try await stage.simulator.behave()
        }
        for status in [21_003, 21_004, 21_010] {
            #expect(try await stage.demanded(status, setup: offlineFirst).name == "genuine")
        }
        return try await stage.demanded(21_005, setup: offlineFirst)
    },
]

private let refusingAnswers: [String: Scenario] = [
    "verifyReceipt: 21002, 21003, 21010 or not retryable, the fourth time, of what Apple signed for the app": { stage in
        for status in [21_003, 21_010] {
            #expect(try await stage.demanded(status, attempt: 3).name == "genuine", "\(status)")
        }
        #expect(try await stage.demanded(21_150, attempt: 3, isRetryable: false).name == "genuine")
        let finding = try await stage.demanded(21_002, attempt: 3)
        #expect(finding.transactions.count == 1 && finding.claims.ids == nil)
        return finding
    },
    "verifyReceipt: the same of one with an environment that nobody knows": { stage in
        let proof = try await stage.simulator.attack("receipt_of_unknown_type")
        for setup in [asking, offlineFirst] {
            #expect(try await stage.finding(receipt(proof, attempt: 2), setup).reason == "receipt_malformed")
            let old = receipt(proof, attempt: 9, receivedAt: Date(timeIntervalSinceNow: -1e6))
            #expect(try await stage.finding(old, setup).reason == "environment_unknown")
        }
        return try await stage.finding(receipt(proof, attempt: 3), offlineFirst)
    },
    "verifyReceipt: the same of what cannot be checked here, not yet believed": { stage in
        // Ours of what an operator has denied is no good check.
        let setup = Setup(receipts: "verify_receipt", denied: [try stage.simulator.root(of: "receipt-root")])
        for (attempt, age) in [(0, 1e6), (2, 1e6), (90, 259_100.0)] {
            let finding = try await stage.demanded(
                21_002, attempt: attempt, receivedAt: Date(timeIntervalSinceNow: -age), setup: setup)
            #expect(finding.reason == "receipt_malformed", "\(attempt)")
            #expect(finding.name == "unknown", "\(attempt)")
        }
        return try await stage.demanded(21_002, attempt: 9, setup: setup)
    },
    "verifyReceipt: the same of what cannot be checked here, believed": { stage in
        let setup = Setup(receipts: "verify_receipt", denied: [try stage.simulator.root(of: "receipt-root")])
        return try await stage.demanded(
            21_002, attempt: 9, receivedAt: Date(timeIntervalSinceNow: -259_300), setup: setup)
    },
    "verifyReceipt: 21003: not authenticated, up to the third time": { try await $0.demanded(21_003, attempt: 2) },
    "verifyReceipt: 21010: account unknown or deleted, up to the third time": { try await $0.demanded(21_010) },
    "verifyReceipt: 21100 to 21199, not retryable, up to the third time": {
        try await $0.demanded(21_150, isRetryable: false)
    },
    "verifyReceipt: another app's receipt": { stage in
        try await stage.finding(receipt(try await stage.simulator.attack("receipt_of_another_app")), asking)
    },
]

private let unclearAnswers: [String: Scenario] = [
    "verifyReceipt: 21000: not a POST": { try await $0.demanded(21_000) },
    "verifyReceipt: 21001: no longer sent, or any other number": { try await $0.demanded(21_001) },
    "verifyReceipt: 21002: malformed, up to the third time": { try await $0.demanded(21_002, attempt: 2) },
    "verifyReceipt: 21003 of the sandbox, without a shared secret": { try await $0.demanded(21_003, in: .sandbox) },
    "verifyReceipt: 21004: wrong shared secret": { stage in
        let finding = try await stage.demanded(21_004, setup: Setup(receipts: "verify_receipt", sharedSecret: "wrong"))
        return finding
    },
    "verifyReceipt: 21005: not available": { try await $0.demanded(21_005) },
    "verifyReceipt: 21007 and 21008 in turn": { try await $0.demanded(21_008, in: .sandbox) },
    "verifyReceipt: 21009: internal error": { try await $0.demanded(21_009) },
    "verifyReceipt: 21100 to 21199, retryable or not said": { stage in
        #expect(try await stage.demanded(21_100).reason == "app_store_unavailable")
        return try await stage.demanded(21_199, isRetryable: true)
    },
    "verifyReceipt: HTTP 429": { stage in
        let finding = try await stage.disturbed("{\"kind\":\"status\",\"status\":429,\"retryAfterMs\":90000}")
        #expect((80...90).contains(finding.retryAfterSeconds ?? 0))
        return finding
    },
    "verifyReceipt: HTTP 5xx, no answer, or one that is not Apple's": { stage in
        for fault in [
            "{\"kind\":\"status\",\"status\":503,\"body\":\"htmlPage\"}", "{\"kind\":\"reset\"}",
            "{\"kind\":\"garbageJSON\"}", "{\"kind\":\"truncatedBody\"}",
        ] {
            #expect(try await stage.disturbed(fault).reason == "app_store_unavailable", "\(fault)")
            try await stage.simulator.behave()
        }
        return try await stage.disturbed("{\"kind\":\"emptyBody\"}")
    },
]
