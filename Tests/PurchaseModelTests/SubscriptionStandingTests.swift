import ChanceTesting
import Foundation
import PurchaseModel
import Testing

@Suite("Where a subscription stands")
struct SubscriptionStandingTests {
    private func state(
        _ transactions: [Transaction], _ renewal: RenewalStatement? = nil, on number: Double
    ) -> SubscriptionState? {
        SubscriptionStanding.derived(from: transactions, renewal: renewal, at: day(number))?.state
    }

    @Test func `it is active until the instant at which it ends`() throws {
        let month = [period("1", from: 0, to: 30)]
        #expect(state(month, on: 0) == .active)
        #expect(state(month, on: 29.999) == .active)
        #expect(state(month, on: 30) == .expired)
        let standing = try #require(SubscriptionStanding.derived(from: month, renewal: nil, at: day(1)))
        #expect(standing.changesAt == day(30))
        #expect(standing.accessUntil == day(30))
        #expect(standing.willRenew == nil, "Apple has not said")
    }

    @Test func `nothing stands where there is no period`() {
        var gems = period("1", from: 0, to: 30)
        gems.productType = .consumable
        var endless = period("2", from: 0, to: 30)
        endless.expiresDate = nil
        #expect(SubscriptionStanding.derived(from: [gems, endless], renewal: nil, at: day(1)) == nil)
        var entry = period("3", from: 0, to: 30)
        entry.productType = .unstated
        #expect(state([entry], on: 1) == .active, "receipts do not state the type")
    }

    @Test func `grace goes on as long as Apple says, and is over at its instant`() throws {
        let month = [period("1", from: 0, to: 30)]
        let failed = renewal(signed: 30) {
            $0.isInBillingRetry = true
            $0.gracePeriodExpiresDate = day(46)
        }
        #expect(state(month, failed, on: 29) == .active)
        #expect(state(month, failed, on: 30) == .gracePeriod)
        #expect(state(month, failed, on: 46) == .billingRetry)
        let standing = try #require(SubscriptionStanding.derived(from: month, renewal: failed, at: day(31)))
        #expect(standing.accessUntil == day(46))
        #expect(standing.changesAt == day(46))
        let late = SubscriptionStanding.derived(from: month, renewal: failed, at: day(50))
        #expect(late?.accessUntil == day(46), "an entitlement's end does not move with the clock")
    }

    @Test func `a failed payment of an earlier period says nothing about this one`() {
        let failed = renewal(signed: 30) {
            $0.isInBillingRetry = true
            $0.gracePeriodExpiresDate = day(62)
            $0.willRenew = false
            $0.priceIncreaseStatus = 0
        }
        let months = [period("1", from: 0, to: 30), period("2", from: 31, to: 61)]
        #expect(state(months, failed, on: 61) == .expired)
        let standing = SubscriptionStanding.derived(from: months, renewal: failed, at: day(40))
        #expect(standing?.gracePeriodExpiresDate == nil)
        #expect(standing?.willRenew == nil)
        #expect(standing?.priceIncreaseStatus == nil)
    }

    @Test func `what is signed with a period that was paid ahead is about that period`() {
        let ahead = [period("1", from: 0, to: 30), period("2", from: 30, to: 60, signed: 29.5)]
        let with = renewal(signed: 29.5) { $0.renewalDate = day(60) }
        #expect(SubscriptionStanding.derived(from: ahead, renewal: with, at: day(29.6))?.willRenew == true)
        let before = renewal(signed: 29) { $0.renewalDate = day(30) }
        #expect(SubscriptionStanding.derived(from: ahead, renewal: before, at: day(29.6))?.willRenew == nil)
    }

    @Test func `what was said of a period that an upgrade cut short says nothing of the next`() throws {
        let month = period("1", from: 0, to: 30)
        let said = renewal(signed: 5) {
            $0.renewalProductId = "basic"
            $0.renewalDate = day(30)
            $0.renewalPriceMilliunits = 4_990
            $0.willRenew = false
        }
        let premium = period("2", from: 10, to: 40, product: "premium")
        let upgraded = try #require(SubscriptionStanding.derived(from: [month, premium], renewal: said, at: day(11)))
        #expect(upgraded.renewalProductId == nil)
        #expect(upgraded.renewalDate == nil)
        #expect(upgraded.renewalPriceMilliunits == nil)
        #expect(upgraded.willRenew == nil)
        // Nor of the same product, bought again after a refund of the year.
        let ofTheYear = renewal(signed: 1) {
            $0.renewalDate = day(400)
            $0.willRenew = false
        }
        let again = [period("1", from: 0, to: 400), period("2", from: 6, to: 406)]
        #expect(SubscriptionStanding.derived(from: again, renewal: ofTheYear, at: day(7))?.willRenew == nil)
    }

    @Test func `a failure that was made up for in grace is not that of the period that was paid then`() {
        let failed = renewal(signed: 7.01) {
            $0.isInBillingRetry = true
            $0.gracePeriodExpiresDate = day(13)
        }
        let paid = [period("1", from: 0, to: 7), period("2", from: 7, to: 14)]
        #expect(state([paid[0]], failed, on: 8) == .gracePeriod)
        #expect(state(paid, failed, on: 12) == .active)
        #expect(state(paid, failed, on: 14) == .expired, "nothing was said of a failure since")
    }

    @Test(arguments: [(nil, SubscriptionState.billingRetry), (2, .billingRetry), (1, .expired), (3, .expired)])
    func `the App Store tries on only after a failed payment`(intent: Int?, expected: SubscriptionState) {
        let said = renewal(signed: 30) {
            $0.isInBillingRetry = true
            $0.expirationIntent = intent
        }
        #expect(state([period("1", from: 0, to: 30)], said, on: 31) == expected)
    }

    @Test func `what was taken back is revoked, whatever else is said`() {
        var last = period("2", from: 30, to: 60)
        last.revocationDate = day(40)
        let first = period("1", from: 0, to: 30)
        #expect(state([first, last], renewal(signed: 41), on: 45) == .revoked)
        #expect(state([first, last], renewal(signed: 41), on: 70) == .revoked)
        var old = first
        old.revocationDate = day(40)
        #expect(state([old, period("2", from: 30, to: 60)], on: 45) == .active, "an older period is not this one")
        #expect(state([first, last, period("3", from: 62, to: 92)], on: 70) == .active, "bought again")
    }

    @Test func `an upgrade takes effect at once, said or not`() {
        let year = period("1", from: 0, to: 400)
        let premium = period("2", from: 10, to: 40, product: "premium")
        var upgraded = year
        upgraded.isUpgraded = true
        #expect(SubscriptionStanding.derived(from: [upgraded], renewal: nil, at: day(5))?.transactionId == "1")
        for old in [year, upgraded] {
            let both = [premium, old]
            #expect(SubscriptionStanding.derived(from: both, renewal: nil, at: day(20))?.productId == "premium")
            #expect(state(both, on: 50) == .expired, "what ends later is not what runs")
            #expect(both.supersededPeriods == ["1"])
        }
    }

    @Test func `a renewal supersedes nothing, neither does a plan that changes at renewal`() {
        let months = [
            period("1", from: 0, to: 30), period("2", from: 30, to: 60),
            period("3", from: 60, to: 90, product: "premium"),
        ]
        #expect(months.supersededPeriods.isEmpty)
    }

    @Test func `what comes next is carried along`() throws {
        var current = period("1", from: 0, to: 30)
        current.subscriptionGroupId = "G"
        current.offerType = 2
        current.offerIdentifier = "spring"
        current.ownership = "FAMILY_SHARED"
        current.commitment = Transaction.Commitment(billingPeriod: 1, billingPeriods: 12)
        let said = renewal(signed: 2) {
            $0.renewalProductId = "lite"
            $0.renewalDate = day(30)
            $0.renewalPriceMilliunits = 4_990
            $0.currency = "EUR"
            $0.priceIncreaseStatus = 0
            $0.expirationIntent = 1
        }
        let standing = try #require(SubscriptionStanding.derived(from: [current], renewal: said, at: day(3)))
        #expect(standing.subscriptionGroupId == "G")
        #expect(standing.offerType == 2)
        #expect(standing.offerIdentifier == "spring")
        #expect(standing.ownership == "FAMILY_SHARED")
        #expect(standing.commitment?.billingPeriods == 12)
        #expect(standing.renewalProductId == "lite")
        #expect(standing.renewalDate == day(30))
        #expect(standing.renewalPriceMilliunits == 4_990)
        #expect(standing.renewalCurrency == "EUR")
        #expect(standing.priceIncreaseStatus == 0)
        #expect(standing.expirationIntent == 1)
        let same = renewal(signed: 2) { $0.renewalProductId = "basic" }
        #expect(
            SubscriptionStanding.derived(from: [current], renewal: same, at: day(3))?.renewalProductId == nil,
            "the same product is no other")
    }

    @Test(arguments: UInt64(1)...200)
    func `the order of what is known does not matter, and the current period alone is enough`(seed: UInt64) throws {
        var numbers = SplitMix(seed: seed)
        let (transactions, said) = history(&numbers)
        let now = day(Double.random(in: -5...400, using: &numbers))
        let expected = try #require(SubscriptionStanding.derived(from: transactions, renewal: said, at: now))
        for _ in 1...5 {
            let shuffled = transactions.shuffled(using: &numbers)
            #expect(SubscriptionStanding.derived(from: shuffled, renewal: said, at: now) == expected)
            #expect(shuffled.supersededPeriods == transactions.supersededPeriods)
        }
        let current = try #require(transactions.periods.last)
        #expect(SubscriptionStanding.derived(from: [current], renewal: said, at: now) == expected)
        #expect(!transactions.supersededPeriods.contains(current.transactionId))
    }

    @Test(arguments: UInt64(1)...200)
    func `the clock moves it forward only, and exactly when it said`(seed: UInt64) throws {
        var numbers = SplitMix(seed: seed)
        let (transactions, said) = history(&numbers)
        let rank: [SubscriptionState: Int] = [.active: 0, .gracePeriod: 1, .billingRetry: 2, .expired: 2, .revoked: 3]
        var now = day(-10)
        var states: [SubscriptionState] = []
        while true {
            let standing = try #require(SubscriptionStanding.derived(from: transactions, renewal: said, at: now))
            if let last = states.last {
                #expect(standing.state != last)
                #expect(rank[standing.state, default: 0] > rank[last, default: 0])
            }
            states.append(standing.state)
            guard let next = standing.changesAt else { break }
            #expect(next > now)
            let just = SubscriptionStanding.derived(
                from: transactions, renewal: said, at: next.addingTimeInterval(-0.001))
            #expect(just?.state == standing.state)
            now = next
        }
        let end = SubscriptionStanding.derived(from: transactions, renewal: said, at: day(10_000))
        #expect(end?.state == states.last)
    }

    /// A lineage by chance: renewals, gaps, upgrades, refunds, and a statement of any age.
    private func history(
        _ numbers: inout SplitMix
    ) -> (transactions: [Transaction], renewal: RenewalStatement?) {
        var transactions: [Transaction] = []
        var start = 0.0
        for number in 1...Int.random(in: 1...12, using: &numbers) {
            let lengths: [Double] = [7, 30, 90]
            let length: Double = lengths.randomElement(using: &numbers) ?? 30
            let product = ["basic", "premium"].randomElement(using: &numbers) ?? "basic"
            var next = period("\(number)", from: start, to: start + length, product: product)
            if Int.random(in: 0..<6, using: &numbers) == 0 { next.revocationDate = day(start + 1) }
            if Int.random(in: 0..<6, using: &numbers) == 0 { next.isUpgraded = true }
            transactions.append(next)
            let gaps: [Double] = [length, length, length / 2, length + 3]
            start += gaps.randomElement(using: &numbers) ?? length
        }
        guard Bool.random(using: &numbers) else { return (transactions, nil) }
        let signed = Double.random(in: 0...(start + 10), using: &numbers)
        let grace: Double? = Bool.random(using: &numbers) ? start + Double.random(in: -20...20, using: &numbers) : nil
        let isRetried = Bool.random(using: &numbers)
        let intents: [Int?] = [nil, 1, 2]
        let intent = intents.randomElement(using: &numbers) ?? nil
        let said = renewal(signed: signed) {
            $0.isInBillingRetry = isRetried
            $0.expirationIntent = intent
            $0.gracePeriodExpiresDate = grace.map(day)
        }
        return (transactions, said)
    }
}
