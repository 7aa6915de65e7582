import Messages
import Persistence
import PurchaseModel
import Testing

@testable import Fulfillment

/// What the poster is told, as a table.
@Suite("Outcomes of submissions")
struct SubmissionOutcomesTests {
    private let granted = SubmissionOutcomesTests.summary(state: .granted, reason: nil, account: "anna")
    private let others = SubmissionOutcomesTests.summary(state: .granted, reason: nil, account: "ben")
    private let unclaimed = SubmissionOutcomesTests.summary(state: .parked, reason: .unclaimed, account: nil)
    private let tokenUnknown = SubmissionOutcomesTests.summary(
        state: .parked, reason: .accountTokenUnknown, account: nil)
    private let productUnknown = SubmissionOutcomesTests.summary(
        state: .parked, reason: .productUnknown, account: "anna")
    private let revoked = SubmissionOutcomesTests.summary(state: .revoked, reason: .revokedByApple, account: nil)

    private static func summary(
        state: OrderState, reason: ReasonCode?, account: String?, testPurchase: TestPurchase? = nil
    ) -> OrderSummary {
        OrderSummary(
            key: OrderKey(environment: .production, transactionId: "t"), state: state, reason: reason,
            account: account.map { Account(stored: $0) }, testPurchase: testPurchase)
    }

    private func judged(_ verdict: VerdictMessage, isServer: Bool = false) -> Judged {
        Judged(
            verdict,
            row: SubmissionStore.Row(
                app: Bench.app, account: Account(stored: verdict.account), kind: .receipt, isServer: isServer,
                state: .received),
            place: 0)
    }

    private func outcome(
        _ summaries: [OrderSummary], claims: [String]?, isNumberOnly: Bool = false, isServer: Bool = false
    ) -> SubmissionOutcome {
        let transactions = summaries.indices.map { Bench.entry("t\($0)") }
        let verdict = VerdictMessage(
            submissionId: "s", app: Bench.app, account: "anna", correlationId: "r", attempt: 0,
            verdict: .genuine(transactions), claims: Claims(ids: claims, areUnproven: isNumberOnly))
        var byKey: [OrderKey: OrderSummary] = [:]
        for (index, summary) in summaries.enumerated() {
            byKey[OrderKey(environment: .production, transactionId: "t\(index)")] = summary
        }
        return SubmissionOutcomes.genuine(transactions, of: judged(verdict, isServer: isServer), byKey)
    }

    /// `state reason finish`, with `-` for no reason.
    private func text(_ summaries: [OrderSummary], claims: [String]? = nil) -> String {
        let outcome = outcome(summaries, claims: claims)
        return "\(outcome.state) \(outcome.reason?.rawValue ?? "-") \(outcome.finish)"
    }

    @Test func `what Apple posts is fulfilled, and refused to nobody`() {
        let notification = VerdictMessage(
            submissionId: "n", app: Bench.app, account: "", correlationId: "r", attempt: 0,
            verdict: .genuine([Bench.entry("t0"), Bench.entry("t1")]), claims: [],
            notification: VerdictMessage.NotificationKind(type: "REFUND", subtype: nil, uuid: "u"))
        let outcome = SubmissionOutcomes.genuine(
            [Bench.entry("t0"), Bench.entry("t1")], of: judged(notification),
            [
                OrderKey(environment: .production, transactionId: "t0"): others,
                OrderKey(environment: .production, transactionId: "t1"): unclaimed,
            ])
        #expect(outcome.state == .fulfilled && outcome.finish && outcome.reason == nil)
        #expect(outcome.transactions.map(\.reason) == [nil, .unclaimed])
    }

    @Test func `of what is claimed`() {
        #expect(text([granted]) == "fulfilled - true")
        #expect(text([granted, revoked]) == "fulfilled revoked_by_apple true")
        #expect(text([granted, productUnknown]) == "parked product_unknown true")
        #expect(text([tokenUnknown]) == "parked account_token_unknown true")
        #expect(text([others]) == "rejected belongs_to_another_account true")
        #expect(text([granted, others]) == "fulfilled - true")
    }

    @Test func `strangers' transactions decide nothing`() {
        for stranger in [unclaimed, tokenUnknown, others, revoked] {
            #expect(text([stranger, granted, stranger], claims: ["t1"]) == "fulfilled - true")
            #expect(text([stranger, productUnknown], claims: ["t1"]) == "parked product_unknown true")
            #expect(text([stranger, others], claims: ["t1"]) == "rejected belongs_to_another_account true")
        }
        #expect(text([granted, others], claims: ["t1"]) == "rejected belongs_to_another_account true")
    }

    @Test func `of a receipt without a name, a receipt without the name, and an empty one`() {
        #expect(text([unclaimed, unclaimed], claims: []) == "parked claim_unnamed false")
        #expect(text([granted, unclaimed], claims: []) == "parked claim_unnamed false")
        #expect(text([others, tokenUnknown], claims: []) == "parked claim_unnamed false")
        #expect(text([granted, tokenUnknown], claims: []) == "fulfilled - true")
        #expect(text([granted, others], claims: []) == "fulfilled - true")
        #expect(text([others, others], claims: []) == "rejected belongs_to_another_account true")
        #expect(text([productUnknown, others], claims: []) == "parked product_unknown true")
        #expect(text([unclaimed, unclaimed], claims: ["t7"]) == "rejected transaction_not_in_receipt false")
        #expect(text([granted, unclaimed], claims: ["t0", "t7"]) == "rejected transaction_not_in_receipt false")
        for claims in [nil, [], ["t7"]] {
            #expect(text([], claims: claims) == "rejected receipt_without_purchases false")
        }
    }

    @Test func `a test purchase is told as the order is marked`() {
        let marked = Self.summary(state: .granted, reason: nil, account: "anna", testPurchase: .appReview)
        #expect(outcome([marked, granted], claims: nil).transactions.map(\.testPurchase) == [.appReview, nil])
    }

    @Test func `knowing a number proves nothing, and shows nothing`() {
        for order in [others, unclaimed, tokenUnknown, revoked] {
            let outcome = outcome([order], claims: ["t0"], isNumberOnly: true)
            #expect(outcome == SubmissionOutcomes.unproven)
            #expect(outcome.state == .parked && !outcome.finish && outcome.reason == .possessionUnproven)
            #expect(outcome.transactions.isEmpty)
        }
        // What Apple's token gives to the poster is theirs, whatever they post.
        let own = outcome([granted, others], claims: ["t0", "t1"], isNumberOnly: true)
        #expect(own.state == .fulfilled && own.finish && own.transactions.map(\.transactionId) == ["t0"])
        // The studio's server is believed.
        let server = outcome([granted], claims: ["t0"], isNumberOnly: true, isServer: true)
        #expect(server.state == .fulfilled && server.finish)
    }
}
