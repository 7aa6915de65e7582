import Foundation
import PurchaseModel
import Testing

/// A year that is billed every month: what is cancelled is the next year, not the months that are left.
@Suite("Subscriptions with a commitment")
struct SubscriptionCommitmentTests {
    /// One of twelve months.
    private func month(_ number: Int64) -> Transaction {
        let start = Double(number - 1) * 30
        var month = period("\(number)", from: start, to: start + 30)
        month.commitment = Transaction.Commitment(
            billingPeriod: number, billingPeriods: 12, expiresDate: day(360), billingPlan: "MONTHLY")
        return month
    }

    private func said(
        _ signed: Double, commitment: Bool, billing: Bool = true, next: String = "basic"
    ) -> RenewalStatement {
        renewal(signed: signed) {
            $0.willRenew = billing
            $0.renewalBillingPlan = "MONTHLY"
            $0.commitment = RenewalStatement.Commitment(
                willRenew: commitment, productId: next, renewalDate: day(360), priceMilliunits: 59_880,
                billingPlan: "MONTHLY")
        }
    }

    private func standing(
        _ months: [Transaction], _ said: RenewalStatement?, on number: Double
    ) throws -> SubscriptionStanding {
        try #require(SubscriptionStanding.derived(from: months, renewal: said, at: day(number)))
    }

    @Test func `what comes after it is carried along`() throws {
        let standing = try standing([month(1)], said(0, commitment: true), on: 1)
        #expect(standing.commitment?.billingPeriod == 1)
        #expect(standing.commitmentRenewal?.willRenew == true)
        #expect(standing.commitmentRenewal?.renewalDate == day(360))
        #expect(standing.commitmentRenewal?.priceMilliunits == 59_880)
        #expect(standing.commitmentRenewal?.billingPlan == "MONTHLY")
        #expect(standing.renewalBillingPlan == "MONTHLY")
        #expect(standing.expiresDate == day(30), "a commitment is not access: its months are")
    }

    @Test func `a cancellation is told once, though the months go on, and its undoing`() throws {
        let before = try standing([month(1)], said(0, commitment: true), on: 5)
        let after = try standing([month(1)], said(5, commitment: false), on: 5)
        #expect(after.willRenew == true, "the months that are left are billed")
        #expect(SubscriptionChange.all(from: before, to: after) == [.cancelScheduled])
        #expect(SubscriptionChange.all(from: after, to: before) == [.cancelUndone])
        // Word of the next month may come before word of its renewal.
        let alone = try standing([month(1), month(2)], said(5, commitment: false), on: 30)
        #expect(alone.willRenew == nil)
        #expect(alone.commitmentRenewal?.willRenew == false)
        #expect(SubscriptionChange.all(from: after, to: alone) == [.renewed])
        let both = try standing([month(1), month(2)], said(30, commitment: false), on: 30)
        #expect(SubscriptionChange.all(from: alone, to: both).isEmpty)
        let last = try standing([month(11), month(12)], said(330, commitment: false, billing: false), on: 330)
        #expect(
            SubscriptionChange.all(from: try standing([month(11)], said(300, commitment: false), on: 301), to: last)
                == [.renewed])
        let over = try standing([month(12)], said(330, commitment: false, billing: false), on: 360)
        #expect(SubscriptionChange.all(from: last, to: over) == [.expired])
    }

    @Test func `a new commitment has not been cancelled`() throws {
        var anew = month(1)
        anew.transactionId = "13"
        anew.purchaseDate = day(360)
        anew.expiresDate = day(390)
        let standing = try standing([month(12), anew], said(340, commitment: false), on: 361)
        #expect(standing.commitmentRenewal == nil)
    }

    @Test func `another product after the commitment is a plan`() throws {
        let before = try standing([month(3)], said(60, commitment: true), on: 61)
        let after = try standing([month(3)], said(61, commitment: true, next: "lite"), on: 61)
        #expect(SubscriptionChange.all(from: before, to: after) == [.planChangeScheduled])
        #expect(after.renewalProductId == nil, "the next month is the same product's")
    }

    @Test func `what is kept as JSON loses nothing`() throws {
        let said = said(5, commitment: false, next: "lite")
        let text = try JSONEncoder().encode(said)
        #expect(try JSONDecoder().decode(RenewalStatement.self, from: text) == said)
        var standing = try standing([month(1)], said, on: 6)
        standing.renewalOfferType = 2
        standing.renewalOfferIdentifier = "stay"
        standing.offerDiscountType = "FREE_TRIAL"
        let kept = try JSONDecoder().decode(SubscriptionStanding.self, from: try JSONEncoder().encode(standing))
        #expect(kept == standing)
    }
}
