import AppStoreServerAPI
import Foundation
import Messages
import NIOHTTP1
import PurchaseModel
import Testing

@testable import VerificationWorker

extension Stage {
    /// What becomes of a subscription's bare id while Get All Subscription Statuses misbehaves.
    fileprivate func subscribed(_ fault: String, _ setup: Setup = Setup()) async throws -> Finding {
        let sold = try await simulator.subscribe(to: "subscriber-\(UUID().uuidString)")
        try await simulator.control(
            .PUT, "faults", "{\"rules\":[{\"match\":{\"group\":\"subscriptions\"},\"fault\":\(fault)}]}")
        let finding = try await finding(asked(sold.transactionId), setup)
        #expect(finding.transactions.map(\.transactionId) == [sold.transactionId])
        try await simulator.behave()
        return finding
    }
}

/// The rows about what Apple says of coming renewals.
let renewalScenarios: [String: Scenario] = [
    "Server API: a subscription, with its renewal info": { stage in
        let sold = try await stage.simulator.subscribe(to: "subscriber-\(UUID().uuidString)")
        let finding = try await stage.finding(asked(sold.transactionId))
        #expect(finding.renewals.map(\.originalTransactionId) == [sold.originalTransactionId])
        return finding
    },
    "Server API: a subscription, and Get All Subscription Statuses fails": { stage in
        for fault in [
            "{\"kind\":\"status\",\"status\":500}", "{\"kind\":\"status\",\"status\":429}",
            "{\"kind\":\"status\",\"status\":404,\"errorCode\":4040010}", "{\"kind\":\"status\",\"status\":401}",
            "{\"kind\":\"garbageJSON\"}", "{\"kind\":\"reset\"}",
        ] {
            let finding = try await stage.subscribed(fault)
            #expect(finding.name == "genuine", "\(fault)")
            #expect(finding.renewals == [], "\(fault)")
        }
        return try await stage.subscribed("{\"kind\":\"hang\"}", Setup(patience: .seconds(4)))
    },
    "verifyReceipt: with pending renewals": { stage in
        let account = "renewing-\(UUID().uuidString)"
        let sold = try await stage.simulator.subscribe(to: account)
        try await stage.simulator.control(
            .POST, "subscriptions/\(sold.originalTransactionId)/auto-renew", "{\"on\":false}")
        let proof = try await stage.simulator.receipt(of: account)
        for policy in ["offline_then_verify_receipt", "verify_receipt"] {
            let finding = try await stage.finding(receipt(proof), Setup(receipts: policy))
            let renewal = try #require(finding.renewals.first)
            #expect(finding.renewals.count == 1)
            #expect(renewal.originalTransactionId == sold.originalTransactionId)
            #expect(renewal.productId == "gold")
            #expect(renewal.willRenew == false)
            #expect(renewal.environment == .production)
            #expect(renewal.evidence?.contains("verifyReceipt") == true)
        }
        #expect(try await stage.finding(receipt(proof)).renewals == [])
        return try await stage.finding(receipt(proof), Setup(receipts: "verify_receipt"))
    },
]
