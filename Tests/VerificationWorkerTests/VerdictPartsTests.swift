import Foundation
import Messages
import PurchaseModel
import Testing

@testable import VerificationWorker

@Suite("Parts of a verdict")
struct VerdictPartsTests {
    private let submission = SubmissionFixture.make(.receipt, "x", attempt: 3)

    private func transactions(_ message: VerdictMessage) -> [String] {
        guard case .genuine(let transactions) = message.verdict else { return [] }
        return transactions.map(\.transactionId)
    }

    @Test("What fits is one message, not partial, with the claims as they are")
    func one() throws {
        let finding = Finding(.genuine([.fixture("1"), .fixture("2")]), claims: ["2"])
        let messages = VerdictParts.messages(for: submission, finding)
        #expect(messages.count == 1 && !VerdictParts.areOrdered(messages))
        let message = try #require(messages.first)
        #expect(!message.isPartial)
        #expect(message.claims.ids == ["2"])
        #expect(message.attempt == 3)
        #expect(message.submissionId == submission.submissionId)
    }

    @Test("What does not fit comes in parts of 200, what is claimed last, and nothing twice")
    func several() {
        let all = (0..<450).map { Transaction.fixture("\($0)") }
        let finding = Finding(.genuine(all), claims: ["7", "missing"])
        let messages = VerdictParts.messages(for: submission, finding)
        #expect(messages.map(\.isPartial) == [true, true, false])
        #expect(messages.map { transactions($0).count } == [200, 200, 50])
        #expect(Set(messages.flatMap(transactions)) == Set(all.map(\.transactionId)))
        #expect(messages.map(\.claims.ids) == [[], [], ["7", "missing"]])
        #expect(VerdictParts.areOrdered(messages), "the last one settles, and must be read last")
        #expect(messages.last.map(transactions)?.last == "7")
    }

    @Test("A lineage of more than a part is claimed in each part that holds some of it")
    func longLineage() {
        let all = (0..<300).map { Transaction.fixture("\($0)", of: "0") } + [.fixture("stranger")]
        let claims = all.dropLast().map(\.transactionId)
        let messages = VerdictParts.messages(for: submission, Finding(.genuine(all), claims: Claims(ids: claims)))
        #expect(messages.count == 2)
        for message in messages {
            #expect(Set(message.claims.ids ?? []) == Set(transactions(message)).subtracting(["stranger"]))
            #expect(message.claims.ids?.isEmpty == false)
        }
    }

    @Test("Nil claims all in every part; none claims none")
    func extremes() {
        let all = (0..<201).map { Transaction.fixture("\($0)") }
        #expect(VerdictParts.messages(for: submission, Finding(.genuine(all))).map(\.claims.ids) == [nil, nil])
        #expect(
            VerdictParts.messages(for: submission, Finding(.genuine(all), claims: [])).map(\.claims.ids) == [[], []])
    }

    @Test("Every part says whether what is claimed is proven, and when the proof was signed")
    func proof() {
        let all = (0..<201).map { Transaction.fixture("\($0)") }
        let signed = Date(timeIntervalSince1970: 1_600_000_000)
        let finding = Finding(.genuine(all), claims: Claims(ids: ["7"], areUnproven: true), proofSignedDate: signed)
        let messages = VerdictParts.messages(for: submission, finding)
        #expect(messages.map(\.claims.areUnproven) == [true, true])
        #expect(messages.map(\.proofSignedDate) == [signed, signed])
        #expect(VerdictParts.messages(for: submission, Finding(.genuine(all))).allSatisfy { !$0.claims.areUnproven })
    }

    @Test("Evidence has a limit of its own: a broker takes no message of any size")
    func evidence() {
        let large = String(repeating: "x", count: VerdictParts.evidenceBytesMaximum / 2)
        let all = (0..<5).map { Transaction.fixture("\($0)", evidence: large) }
        let messages = VerdictParts.messages(for: submission, Finding(.genuine(all)))
        #expect(messages.map { transactions($0).count } == [2, 2, 1])
    }

    @Test("All parts have one key: the claimed lineage, else the first, else the submission")
    func key() {
        let transactions = [Transaction.fixture("1"), .fixture("3", of: "2")]
        #expect(VerdictParts.key(for: submission, Finding(.genuine(transactions), claims: ["3"])) == "2")
        #expect(VerdictParts.key(for: submission, Finding(.genuine(transactions), claims: [])) == "1")
        #expect(VerdictParts.key(for: submission, Finding(.genuine(transactions))) == "1")
        #expect(VerdictParts.key(for: submission, Finding(.genuine([]))) == "sub_test")
        #expect(VerdictParts.key(for: submission, .unknown(.rateLimited, after: 1)) == "sub_test")
    }

    @Test("A receipt without purchases, a refusal and an unknown are one message")
    func nothing() {
        for finding in [
            Finding(.genuine([]), claims: ["9"]), .rejected(.bundleMismatch, "x"), .unknown(.rateLimited, after: 1),
        ] {
            let messages = VerdictParts.messages(for: submission, finding)
            #expect(messages.map(\.isPartial) == [false])
            #expect(messages.map(\.claims.ids) == [finding.claims.ids])
            #expect(messages.map(\.verdict) == [finding.verdict])
        }
    }

    @Test("What Apple says beside the transactions goes with the last part, and with no other")
    func beside() {
        let all = (0..<201).map { Transaction.fixture("\($0)") }
        let renewal = RenewalStatement(
            environment: .production, originalTransactionId: "0", productId: "gold", signedDate: Date())
        let consent = RescindedConsent(
            environment: .production, bundleId: SubmissionFixture.app, appTransactionId: "7", signedDate: Date())
        let kind = VerdictMessage.NotificationKind(type: "DID_RENEW", subtype: nil, uuid: "u")
        let finding = Finding(
            .genuine(all), claims: [], renewals: [renewal], rescindedConsents: [consent], notification: kind)
        let messages = VerdictParts.messages(for: submission, finding)
        #expect(messages.map(\.renewals) == [[], [renewal]])
        #expect(messages.map(\.rescindedConsents) == [[], [consent]])
        #expect(messages.map(\.notification) == [nil, kind])
    }

    @Test("Without a transaction, the key is the renewal's lineage; of a consent, the submission")
    func keyBeside() {
        let renewal = RenewalStatement(
            environment: .production, originalTransactionId: "5", productId: "gold", signedDate: Date())
        #expect(VerdictParts.key(for: submission, Finding(.genuine([]), renewals: [renewal])) == "5")
        let both = Finding(.genuine([.fixture("9", of: "8")]), claims: [], renewals: [renewal])
        #expect(VerdictParts.key(for: submission, both) == "8")
        let consent = RescindedConsent(
            environment: .production, bundleId: SubmissionFixture.app, appTransactionId: "7", signedDate: Date())
        #expect(
            VerdictParts.key(for: submission, Finding(.genuine([]), rescindedConsents: [consent])) == "sub_test")
    }
}
