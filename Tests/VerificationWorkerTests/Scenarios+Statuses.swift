import AppStoreServerAPI
import Foundation
import Messages
import PurchaseModel
import Testing

@testable import VerificationWorker

extension Stage {
    /// What Apple answers about a subscription: its latest transaction and its renewal info.
    fileprivate func status(of sold: Simulator.Sold) async throws -> (transaction: String, renewal: String) {
        try await withAccess { access in
            let client = try #require(access.apps.client(of: SubmissionFixture.app))
            let answer = try await client.subscriptionStatuses(of: sold.transactionId, in: .production)
            let item = try #require(answer.lastTransactions.first)
            return (try #require(item.signedTransactionInfo), try #require(item.signedRenewalInfo))
        }
    }

    fileprivate func subscribed() async throws -> Simulator.Sold {
        try await simulator.subscribe(to: "subscriber-\(UUID().uuidString)")
    }

    /// What becomes of a status as the sweep takes it in.
    fileprivate func finding(status parts: String...) async throws -> Finding {
        try await finding(
            SubmissionFixture.make(.subscriptionStatus, parts.joined(separator: "\n"), account: ""))
    }
}

/// The rows about what the sweep takes in of Get All Subscription Statuses.
let statusScenarios: [String: Scenario] = [
    "subscription status: every check holds": { stage in
        let sold = try await stage.subscribed()
        let status = try await stage.status(of: sold)
        let finding = try await stage.finding(status: status.transaction, status.renewal)
        #expect(finding.transactions.map(\.transactionId) == [sold.transactionId])
        #expect(finding.renewals.map(\.originalTransactionId) == [sold.originalTransactionId])
        #expect(finding.claims.ids == [], "nobody posted it")
        return finding
    },
    "subscription status: not a transaction and a renewal info": { stage in
        let status = try await stage.status(of: try await stage.subscribed())
        for parts in [status.transaction, "\(status.transaction)\n\(status.renewal)\n\(status.renewal)", ""] {
            #expect(try await stage.finding(status: parts).reason == "payload_invalid")
        }
        return try await stage.finding(status: status.transaction)
    },
    "subscription status: a transaction that Apple did not sign": { stage in
        let status = try await stage.status(of: try await stage.subscribed())
        let forged = try await stage.simulator.forgery(refusedAs: "root_not_trusted")
        return try await stage.finding(status: forged, status.renewal)
    },
    "subscription status: with the renewal of another subscription": { stage in
        let one = try await stage.status(of: try await stage.subscribed())
        let other = try await stage.status(of: try await stage.subscribed())
        return try await stage.finding(status: one.transaction, other.renewal)
    },
]
