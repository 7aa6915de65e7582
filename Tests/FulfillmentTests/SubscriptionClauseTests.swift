import Foundation
import Messages
import Persistence
import PersistenceTesting
import PurchaseModel
import Testing

@testable import Fulfillment

private typealias Sub = SubscriptionBench

/// What the life of a subscription has beside renewals: crossgrades, offers, refused prices, families, commitments.
@Suite("Subscriptions, clause by clause", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct SubscriptionClauseTests {
    @Test func `a crossgrade of the same length takes effect at once, of another at the renewal`() async throws {
        try await Sub.with { bench in
            bench.on(10)
            try await bench.post([Sub.period("1", from: 0, to: 30)], [Sub.renewal(signed: 0)])
            try await bench.post(
                [Sub.period("2", from: 10, to: 40, product: "lite")],
                [Sub.renewal(signed: 10) { $0.productId = "lite" }])
            #expect(try await bench.standing()?.productId == "lite")
            #expect(try await bench.entitlements() == ["1 player 30 upgraded", "2 player 40 -"])
            let yearly = Sub.renewal(signed: 12) {
                $0.productId = "lite"
                $0.renewalProductId = "premium"
            }
            try await bench.post([], [yearly])
            #expect(try await bench.standing()?.renewalProductId == "premium")
            #expect(try await bench.entitlements().last == "2 player 40 -", "until then nothing changes")
            bench.on(40)
            try await bench.post(
                [Sub.period("3", from: 40, to: 405, product: "premium")],
                [Sub.renewal(signed: 40) { $0.productId = "premium" }])
            #expect(try await bench.standing()?.productId == "premium")
            #expect(
                try await bench.events() == [
                    "started", "plan_changed", "plan_change_scheduled", "renewed", "plan_changed",
                ])
            try await bench.bench.expectClean()
        }
    }

    @Test func `an upgrade that comes without word of its renewal takes none of the plan it replaced`() async throws {
        try await Sub.with { bench in
            bench.on(10)
            let said = Sub.renewal(signed: 0) {
                $0.renewalProductId = "basic"
                $0.renewalDate = Sub.day(30)
                $0.renewalPriceMilliunits = 990
            }
            try await bench.post([Sub.period("1", from: 0, to: 30)], [said])
            try await bench.post([Sub.period("2", from: 10, to: 40, product: "premium")])
            let standing = try #require(try await bench.standing())
            #expect(standing.renewalProductId == nil)
            #expect(standing.renewalPriceMilliunits == nil)
            #expect(try await bench.events() == ["started", "plan_changed"], "no downgrade was chosen")
        }
    }

    @Test func `offers: of this period, of the next, and to win back who left`() async throws {
        try await Sub.with { bench in
            bench.on(1)
            let trial = Sub.period("1", from: 0, to: 7) {
                $0.offerType = 1
                $0.offerDiscountType = "FREE_TRIAL"
            }
            let promised = Sub.renewal(signed: 1) {
                $0.offerType = 2
                $0.offerIdentifier = "stay"
            }
            try await bench.post([trial], [promised])
            let first = try #require(try await bench.standing())
            #expect(first.offerType == 1 && first.offerDiscountType == "FREE_TRIAL")
            #expect(first.renewalOfferType == 2 && first.renewalOfferIdentifier == "stay")
            bench.on(7)
            let promotional = Sub.period("2", from: 7, to: 37) {
                $0.offerType = 2
                $0.offerIdentifier = "stay"
            }
            try await bench.post([promotional], [Sub.renewal(signed: 7) { $0.willRenew = false }])
            let second = try #require(try await bench.standing())
            #expect(second.offerType == 2 && second.offerIdentifier == "stay" && second.offerDiscountType == nil)
            #expect(second.renewalOfferType == nil)
            bench.on(37)
            try await bench.endSubscriptions.look()
            bench.on(50)
            let back = Sub.period("3", from: 50, to: 80) {
                $0.offerType = 4
                $0.offerIdentifier = "back"
            }
            try await bench.post([back], [Sub.renewal(signed: 50)])
            #expect(try await bench.standing()?.offerType == 4)
            #expect(try await bench.events() == ["started", "renewed", "cancel_scheduled", "expired", "started"])
        }
    }

    @Test func `who does not agree to a higher price keeps what is paid for, and no more`() async throws {
        try await Sub.with { bench in
            bench.on(1)
            try await bench.post([Sub.period("1", from: 0, to: 30)], [Sub.renewal(signed: 0)])
            try await bench.post([], [Sub.renewal(signed: 10) { $0.priceIncreaseStatus = 0 }])
            bench.on(30)
            try await bench.endSubscriptions.look()
            let over = Sub.renewal(signed: 30) {
                $0.willRenew = false
                $0.expirationIntent = 3
                $0.isInBillingRetry = false
            }
            try await bench.post([], [over])
            #expect(try await bench.standing()?.state == .expired)
            #expect(try await bench.standing()?.expirationIntent == 3)
            #expect(try await bench.entitlements() == ["1 player 30 -"])
            #expect(try await bench.events() == ["started", "price_increase_pending", "expired"])
        }
    }

    @Test func `a family member's subscription ends with the family, the purchaser's goes on`() async throws {
        try await Sub.with { bench in
            bench.on(10)
            let member = Sub.period("f1", from: 0, to: 30, lineage: "f1") { $0.ownership = "FAMILY_SHARED" }
            try await bench.post([Sub.period("1", from: 0, to: 30)], account: "mother")
            try await bench.post([member], account: "child")
            var left = member
            left.revocationDate = Sub.day(10)
            left.revocationType = "FAMILY_REVOKE"
            left.signedDate = Sub.day(10)
            try await bench.post([left], account: "")
            #expect(try await bench.standing("f1")?.state == .revoked)
            #expect(try await bench.standing("f1")?.ownership == "FAMILY_SHARED")
            #expect(try await bench.standing()?.state == .active)
            #expect(try await bench.entitlements() == ["1 mother 30 -", "f1 child 30 family_revoke"])
            #expect(try await bench.events(of: "child", like: "iap.family.%") == ["revoked"])
            #expect(try await bench.events(of: "child") == ["started", "revoked"])
            #expect(try await bench.events(of: "mother") == ["started"])
            try await bench.bench.expectClean()
        }
    }

    /// One of twelve months that were promised.
    private func month(_ number: Int64) -> Transaction {
        let start = Double(number - 1) * 30
        return Sub.period("\(number)", from: start, to: start + 30) {
            $0.commitment = Transaction.Commitment(
                billingPeriod: number, billingPeriods: 12, expiresDate: Sub.day(360), billingPlan: "MONTHLY")
        }
    }

    private func said(_ number: Int64, isCancelled: Bool) -> RenewalStatement {
        Sub.renewal(signed: Double(number - 1) * 30 + (isCancelled ? 1 : 0)) {
            $0.willRenew = !isCancelled || number < 12
            $0.commitment = RenewalStatement.Commitment(willRenew: !isCancelled, productId: "basic")
        }
    }

    @Test func `a cancelled commitment is served to its last month, and told once`() async throws {
        try await Sub.with { bench in
            bench.on(1)
            try await bench.post([month(1)], [said(1, isCancelled: false)])
            try await bench.post([], [said(1, isCancelled: true)])
            #expect(try await bench.standing()?.willRenew == true, "eleven months are still to be billed")
            #expect(try await bench.standing()?.commitmentRenewal?.willRenew == false)
            for number in Int64(2)...12 {
                bench.on(Double(number - 1) * 30 + 1)
                // The app brings the transaction, Apple the rest.
                try await bench.post([month(number)])
                try await bench.post([month(number)], [said(number, isCancelled: true)])
                #expect(try await bench.standing()?.state == .active)
                #expect(try await bench.standing()?.commitment?.billingPeriod == number)
            }
            bench.on(360)
            try await bench.endSubscriptions.look()
            #expect(try await bench.standing()?.state == .expired)
            #expect(
                try await bench.events() == ["started", "cancel_scheduled"]
                    + Array(repeating: "renewed", count: 11) + ["expired"])
        }
    }

    @Test func `a refund of an earlier month leaves the commitment, of the current one it ends it`() async throws {
        try await Sub.with { bench in
            bench.on(35)
            try await bench.post([month(1), month(2)], [said(2, isCancelled: false)])
            for number in Int64(1)...2 {
                var refunded = month(number)
                refunded.revocationDate = Sub.day(35)
                refunded.revocationType = "REFUND_PRORATED"
                refunded.revocationPercentage = 50_000
                refunded.signedDate = Sub.day(35)
                try await bench.post([refunded])
                #expect(try await bench.standing()?.state == (number == 1 ? .active : .revoked))
            }
            #expect(try await bench.events() == ["started", "revoked"])
        }
    }

    @Test func `a payment that is made up for moves the end of the commitment, as Apple says`() async throws {
        try await Sub.with { bench in
            bench.on(1)
            try await bench.post([month(1)], [said(1, isCancelled: false)])
            bench.on(30)
            try await bench.post(
                [], [Sub.renewal(signed: 30) { $0.isInBillingRetry = true }])
            #expect(try await bench.standing()?.state == .billingRetry, "no grace for instalments")
            bench.on(41)
            let late = Sub.period("2", from: 41, to: 71) {
                $0.commitment = Transaction.Commitment(
                    billingPeriod: 2, billingPeriods: 12, expiresDate: Sub.day(371), billingPlan: "MONTHLY")
            }
            try await bench.post([late], [Sub.renewal(signed: 41)])
            #expect(try await bench.standing()?.commitment?.expiresDate == Sub.day(371))
            #expect(try await bench.events() == ["started", "renewal_failed", "recovered"])
        }
    }

    @Test func `a period is as long as Apple says, whatever its product is called`() async throws {
        try await Sub.with { bench in
            // Five minutes: a month of the sandbox.
            bench.on(0.001)
            let short = Sub.period("1", from: 0, to: 5.0 / 1_440)
            try await bench.post([short])
            #expect(try await bench.standing()?.expiresDate == short.expiresDate)
            bench.on(4.9 / 1_440)
            #expect(try await bench.endSubscriptions.end(limit: 10) == 0)
            bench.on(5.0 / 1_440)
            #expect(try await bench.endSubscriptions.end(limit: 10) == 1)
            #expect(try await bench.standing()?.state == .expired)
        }
    }

    @Test func `a failure that was made up for in grace does not become one of the next period`() async throws {
        try await Sub.with { bench in
            bench.on(8)
            let failed = Sub.renewal(signed: 7.01) {
                $0.isInBillingRetry = true
                $0.gracePeriodExpiresDate = Sub.day(13)
            }
            try await bench.post([Sub.period("1", from: 0, to: 7)], [failed])
            #expect(try await bench.standing()?.state == .gracePeriod)
            // Billed as if nothing had happened.
            try await bench.post([Sub.period("2", from: 7, to: 14)])
            #expect(try await bench.standing()?.state == .active)
            bench.on(14)
            try await bench.endSubscriptions.look()
            #expect(try await bench.standing()?.state == .expired)
            #expect(try await bench.events() == ["started", "grace_started", "recovered", "expired"])
        }
    }
}
