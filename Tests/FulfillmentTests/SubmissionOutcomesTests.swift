import Messages
import Persistence
import PurchaseModel
import Testing

@testable import Fulfillment

/// What the poster is told, as a table.
@Suite("Outcomes of submissions")
struct SubmissionOutcomesTests {
    private typealias Standing = OrderStore.Standing

    private let granted = Standing(state: .granted, reason: nil, account: "anna")
    private let others = Standing(state: .granted, reason: nil, account: "ben")
    private let unclaimed = Standing(state: .parked, reason: .unclaimed, account: nil)
    private let tokenUnknown = Standing(state: .parked, reason: .accountTokenUnknown, account: nil)
    private let productUnknown = Standing(state: .parked, reason: .productUnknown, account: "anna")
    private let revoked = Standing(state: .revoked, reason: .revokedByApple, account: nil)

    private func outcome(_ standings: [OrderStore.Standing], claims: [String]?) -> SubmissionOutcome {
        let transactions = standings.indices.map { Bench.entry("t\($0)") }
        let verdict = VerdictMessage(
            submissionId: "s", app: Bench.app, account: "anna", correlationId: "r", attempt: 0,
            verdict: .genuine(transactions), claims: claims)
        var byKey: [OrderKey: OrderStore.Standing] = [:]
        for (index, standing) in standings.enumerated() {
            byKey[OrderKey(environment: .production, transactionId: "t\(index)")] = standing
        }
        return SubmissionOutcomes.genuine(transactions, of: verdict, standings: byKey)
    }

    /// `state reason finish`, with `-` for no reason.
    private func text(_ standings: [OrderStore.Standing], claims: [String]? = nil) -> String {
        let outcome = outcome(standings, claims: claims)
        return "\(outcome.state) \(outcome.reason?.rawValue ?? "-") \(outcome.finish)"
    }

    @Test func `what Apple posts is fulfilled, and refused to nobody`() {
        let notification = VerdictMessage(
            submissionId: "n", app: Bench.app, account: "", correlationId: "r", attempt: 0,
            verdict: .genuine([Bench.entry("t0"), Bench.entry("t1")]), claims: [],
            notification: VerdictMessage.NotificationKind(type: "REFUND", subtype: nil, uuid: "u"))
        let outcome = SubmissionOutcomes.genuine(
            [Bench.entry("t0"), Bench.entry("t1")], of: notification,
            standings: [
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
        let marked = Standing(state: .granted, reason: nil, account: "anna", testPurchase: .appReview)
        #expect(outcome([marked, granted], claims: nil).transactions.map(\.testPurchase) == [.appReview, nil])
    }
}
