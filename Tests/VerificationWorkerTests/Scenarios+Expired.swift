import Foundation
import Messages
import PurchaseModel
import Testing

@testable import VerificationWorker

extension ExpiredCertificates {
    /// In thirty years every certificate of today has expired, those of receipts too.
    static func inThirtyYears(receipts: Rule = .doubt) -> ExpiredCertificates {
        var expired = ExpiredCertificates()
        expired.receipts = receipts
        expired.now = { Date() + 30 * 366 * 86_400 }
        return expired
    }
}

/// A worker of then, with a key or without.
private func then(hasKey: Bool = true, receipts: ExpiredCertificates.Rule = .doubt) -> Setup {
    Setup(hasKey: hasKey, expired: .inThirtyYears(receipts: receipts))
}

private let believed = SubmissionFixture.believed

extension Stage {
    fileprivate func sold(
        notFound: SubmissionMessage.NotFoundAnswers? = nil
    ) async throws -> (submission: SubmissionMessage, id: String) {
        let sold = try await simulator.sellOne()
        return (
            SubmissionFixture.make(.signedTransaction, sold.signedTransaction, notFound: notFound), sold.transactionId
        )
    }

    fileprivate func unknownToApple() async throws {
        try await simulator.misbehave("{\"kind\":\"status\",\"status\":404,\"errorCode\":4040010}")
    }
}

/// The rows about certificates that have expired since they signed.
let expiredScenarios: [String: Scenario] = expiredTransactions.merging(expiredNotifications) { first, _ in first }
    .merging(expiredReceipts) { first, _ in first }

private let expiredTransactions: [String: Scenario] = [
    "signed transaction: its certificates have expired, and the app has no key": { stage in
        let (submission, id) = try await stage.sold()
        let finding = try await stage.finding(submission, then(hasKey: false))
        #expect(finding.transactions.map(\.transactionId) == [id])
        #expect(finding.transactions.map(\.hasExpiredSigner) == [true], "fulfillment decides")
        var accepting = then(hasKey: false)
        accepting.expired.signedData = .accept
        #expect(try await stage.finding(submission, accepting).transactions.map(\.hasExpiredSigner) == [nil])
        // Today, too: nobody bought this, and its signature is good.
        let forged = SubmissionFixture.make(
            .signedTransaction, try await stage.simulator.attack("backdated_under_expired_leaf"))
        #expect(try await stage.finding(forged, Setup(hasKey: false)).transactions.map(\.hasExpiredSigner) == [true])
        // It came before they expired, and is judged only now.
        var early = submission
        early.receivedAt = Date()
        #expect(try await stage.finding(early, then(hasKey: false)).transactions.map(\.hasExpiredSigner) == [nil])
        return finding
    },
    "signed transaction: its certificates have expired, and Apple knows it": { stage in
        let (submission, id) = try await stage.sold()
        let finding = try await stage.finding(submission, then())
        #expect(finding.transactions.map(\.transactionId) == [id])
        #expect(finding.transactions.map(\.hasExpiredSigner) == [nil])
        #expect(finding.claims.ids == nil && !finding.claims.areUnproven, "it was posted with a proof")
        let signed = try #require(finding.proofSignedDate)
        #expect(finding.transactions.allSatisfy { $0.signedDate > signed }, "Apple signed its answer anew")
        return finding
    },
    "signed transaction: its certificates have expired, unknown to Apple, not yet believed": { stage in
        let (submission, _) = try await stage.sold()
        let forged = SubmissionFixture.make(
            .signedTransaction, try await stage.simulator.attack("backdated_under_expired_leaf"))
        #expect(try await stage.finding(forged).reason == "transaction_not_found", "a forgery of today")
        try await stage.unknownToApple()
        return try await stage.finding(submission, then())
    },
    "signed transaction: its certificates have expired, unknown to Apple, believed": { stage in
        let (submission, _) = try await stage.sold(notFound: believed)
        try await stage.unknownToApple()
        let finding = try await stage.finding(submission, then())
        #expect(finding.transactions.map(\.hasExpiredSigner) == [true])
        return finding
    },
    "signed transaction: its certificates have expired, and Apple does not answer": { stage in
        let (submission, _) = try await stage.sold(notFound: believed)
        try await stage.simulator.misbehave("{\"kind\":\"status\",\"status\":503}")
        return try await stage.finding(submission, then())
    },
]

private let expiredNotifications: [String: Scenario] = [
    "server notification: its certificates have expired, and the app has no key": { stage in
        let told = try await stage.simulator.notification("DID_RENEW")
        let finding = try await stage.finding(notified(told.signedPayload), then(hasKey: false))
        #expect(finding.transactions.map(\.hasExpiredSigner) == [true])
        #expect(finding.renewals == [], "nothing but the transaction may be asked about")
        #expect(finding.claims.ids == [] && finding.notification?.type == "DID_RENEW")
        let rescinded = try await stage.simulator.notification("RESCIND_CONSENT")
        let consent = try await stage.finding(notified(rescinded.signedPayload), then(hasKey: false))
        #expect(consent.name == "genuine" && consent.rescindedConsents == [])
        return finding
    },
    "server notification: its certificates have expired, and Apple knows what it is about": { stage in
        let told = try await stage.simulator.notification("DID_RENEW")
        let finding = try await stage.finding(notified(told.signedPayload), then())
        #expect(finding.transactions.map(\.hasExpiredSigner) == [nil])
        #expect(finding.renewals.count == 1, "Apple's word of today")
        #expect(finding.claims.ids == [] && finding.notification?.type == "DID_RENEW")
        return finding
    },
    "server notification: its certificates have expired, unknown to Apple, not yet believed": { stage in
        let told = try await stage.simulator.notification("DID_RENEW")
        try await stage.unknownToApple()
        var later = notified(told.signedPayload)
        later.notFound = believed
        let finding = try await stage.finding(later, then())
        #expect(finding.name == "genuine" && finding.isDoubtful && finding.notification?.type == "DID_RENEW")
        return try await stage.finding(notified(told.signedPayload), then())
    },
]

private let expiredReceipts: [String: Scenario] = [
    "receipt: its certificates have expired, and such are accepted": { stage in
        let (proof, sold) = try await stage.purchase("expired")
        let finding = try await stage.finding(receipt(proof), then(receipts: .accept))
        #expect(finding.transactions.map(\.transactionId) == sold.map(\.transactionId))
        #expect(finding.transactions.allSatisfy { $0.isVouchedFor })
        return finding
    },
    "receipt: its certificates have expired, such are doubted, and the app has no key": { stage in
        let (proof, _) = try await stage.purchase("expired", ["coins.100", "coins.500"])
        let finding = try await stage.finding(receipt(proof), then(hasKey: false))
        #expect(finding.transactions.map(\.hasExpiredSigner) == [true, true])
        return finding
    },
    "receipt: its certificates have expired, such are doubted, and Apple knows what is claimed": { stage in
        let (proof, sold) = try await stage.purchase("expired", ["coins.100", "coins.500"])
        let finding = try await stage.finding(receipt(proof, named: sold[1].transactionId), then())
        #expect(finding.claims.ids == [sold[1].transactionId] && !finding.claims.areUnproven)
        let doubtful = finding.transactions.filter { !$0.isVouchedFor }.map(\.transactionId)
        #expect(finding.transactions.count == 2 && doubtful == [sold[0].transactionId])
        return finding
    },
    "receipt: its certificates have expired, such are doubted, and Apple does not answer": { stage in
        let (proof, _) = try await stage.purchase("expired")
        try await stage.unknownToApple()
        #expect(try await stage.finding(receipt(proof), then()).reason == "transaction_not_found")
        let later = try await stage.finding(receipt(proof, notFound: believed), then())
        #expect(later.name == "genuine" && later.isDoubtful)
        try await stage.simulator.misbehave("{\"kind\":\"status\",\"status\":503}")
        return try await stage.finding(receipt(proof), then())
    },
]
