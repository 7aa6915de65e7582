import Foundation
import Testing

@testable import PurchaseModel

@Suite("What a subscription's step is told as")
struct SubscriptionChangeTests {
    private func standing(
        _ state: SubscriptionState, period: Double = 0, product: String = "basic",
        _ change: (inout SubscriptionStanding) -> Void = { _ in }
    ) -> SubscriptionStanding {
        var standing = SubscriptionStanding(
            originalTransactionId: "1", transactionId: "at \(period)", productId: product, state: state,
            purchaseDate: day(period), expiresDate: day(period + 30))
        change(&standing)
        return standing
    }

    @Test(arguments: [
        (SubscriptionState.active, [SubscriptionChange.started]), (.gracePeriod, [.started, .graceStarted]),
        (.billingRetry, [.renewalFailed]), (.revoked, [.revoked]), (.expired, []),
    ])
    func `what is seen for the first time`(state: SubscriptionState, expected: [SubscriptionChange]) {
        #expect(SubscriptionChange.all(from: nil, to: standing(state)) == expected)
    }

    /// Before, after; then what is told within one period, when the next period follows on, and when there is a gap.
    private typealias Row = (
        from: SubscriptionState, to: SubscriptionState, same: [SubscriptionChange], next: [SubscriptionChange],
        later: [SubscriptionChange]
    )

    private static let table: [Row] = [
        (.active, .active, [], [.renewed], [.renewed]),
        (.active, .gracePeriod, [.graceStarted], [.graceStarted], [.graceStarted]),
        (.active, .billingRetry, [.renewalFailed], [.renewalFailed], [.renewalFailed]),
        (.active, .expired, [.expired], [.expired], [.expired]),
        (.active, .revoked, [.revoked], [.revoked], [.revoked]),
        (.gracePeriod, .active, [], [.recovered], [.recovered]),
        (.gracePeriod, .gracePeriod, [], [.graceStarted], [.graceStarted]),
        (.gracePeriod, .billingRetry, [.graceEnded], [.renewalFailed], [.renewalFailed]),
        (.gracePeriod, .expired, [.graceEnded, .expired], [.expired], [.expired]),
        (.gracePeriod, .revoked, [.revoked], [.revoked], [.revoked]),
        (.billingRetry, .active, [], [.recovered], [.recovered]),
        (.billingRetry, .gracePeriod, [.graceStarted], [.graceStarted], [.graceStarted]),
        (.billingRetry, .billingRetry, [], [.renewalFailed], [.renewalFailed]),
        (.billingRetry, .expired, [.expired], [.expired], [.expired]),
        (.billingRetry, .revoked, [.revoked], [.revoked], [.revoked]),
        (.expired, .active, [], [.renewed], [.started]),
        (.expired, .gracePeriod, [.graceStarted], [.graceStarted], [.started, .graceStarted]),
        (.expired, .billingRetry, [.renewalFailed], [.renewalFailed], [.renewalFailed]),
        (.expired, .expired, [], [], []),
        (.expired, .revoked, [.revoked], [.revoked], [.revoked]),
        (.revoked, .active, [.restored], [.started], [.started]),
        (.revoked, .gracePeriod, [.restored, .graceStarted], [.started, .graceStarted], [.started, .graceStarted]),
        (.revoked, .billingRetry, [.renewalFailed], [.renewalFailed], [.renewalFailed]),
        (.revoked, .expired, [.expired], [.expired], [.expired]),
        (.revoked, .revoked, [], [.revoked], [.revoked]),
    ]

    @Test func `every pair of states, within a period and from one to another`() {
        var pairs: Set<[SubscriptionState]> = []
        for row in Self.table {
            pairs.insert([row.from, row.to])
            let before = standing(row.from)
            let name: Comment = "\(row.from) to \(row.to)"
            #expect(SubscriptionChange.all(from: before, to: standing(row.to)) == row.same, name)
            #expect(SubscriptionChange.all(from: before, to: standing(row.to, period: 30)) == row.next, name)
            #expect(SubscriptionChange.all(from: before, to: standing(row.to, period: 35)) == row.later, name)
        }
        #expect(pairs.count == SubscriptionState.allCases.count * SubscriptionState.allCases.count)
    }

    @Test func `an upgrade is told as another plan, a changed renewal as both`() {
        let before = standing(.active)
        #expect(
            SubscriptionChange.all(from: before, to: standing(.active, period: 10, product: "premium"))
                == [.planChanged])
        #expect(
            SubscriptionChange.all(from: before, to: standing(.active, period: 30, product: "lite"))
                == [.renewed, .planChanged])
        #expect(
            SubscriptionChange.all(
                from: standing(.billingRetry), to: standing(.active, period: 33, product: "lite"))
                == [.recovered, .planChanged])
        #expect(
            SubscriptionChange.all(from: standing(.expired), to: standing(.active, period: 50, product: "lite"))
                == [.started], "what begins anew changes no plan")
        #expect(
            SubscriptionChange.all(from: before, to: standing(.expired, period: 30, product: "lite")) == [.expired])
    }

    @Test func `an extension is told while it runs`() {
        let longer: (inout SubscriptionStanding) -> Void = { $0.expiresDate = day(37) }
        for state in [SubscriptionState.active, .gracePeriod, .billingRetry, .expired] {
            let changes = SubscriptionChange.all(from: standing(state), to: standing(.active, longer))
            #expect(changes == [.extended], "\(state)")
        }
        #expect(SubscriptionChange.all(from: standing(.expired), to: standing(.expired, longer)).isEmpty)
        #expect(SubscriptionChange.all(from: standing(.revoked), to: standing(.active, longer)) == [.restored])
    }

    @Test func `a cancellation is told once, and its undoing`() {
        let on = standing(.active) { $0.willRenew = true }
        let off = standing(.active) { $0.willRenew = false }
        #expect(SubscriptionChange.all(from: on, to: off) == [.cancelScheduled])
        #expect(SubscriptionChange.all(from: standing(.active), to: off) == [.cancelScheduled])
        #expect(SubscriptionChange.all(from: off, to: off).isEmpty)
        #expect(SubscriptionChange.all(from: off, to: on) == [.cancelUndone])
        #expect(SubscriptionChange.all(from: standing(.active), to: on).isEmpty)
        let over = standing(.expired) { $0.willRenew = false }
        #expect(SubscriptionChange.all(from: on, to: over) == [.expired])
        let anew = standing(.active, period: 40) { $0.willRenew = true }
        #expect(SubscriptionChange.all(from: over, to: anew) == [.started])
    }

    @Test func `a plan for the next renewal is told, and when it is given up, but not when it takes effect`() {
        let planned = standing(.active) { $0.renewalProductId = "lite" }
        #expect(SubscriptionChange.all(from: standing(.active), to: planned) == [.planChangeScheduled])
        #expect(SubscriptionChange.all(from: planned, to: standing(.active)) == [.planChangeScheduled])
        #expect(
            SubscriptionChange.all(from: planned, to: standing(.active, period: 30, product: "lite"))
                == [.renewed, .planChanged])
    }

    @Test func `a higher price is asked for, and agreed to`() {
        let asked = standing(.active) { $0.priceIncreaseStatus = 0 }
        let agreed = standing(.active) { $0.priceIncreaseStatus = 1 }
        #expect(SubscriptionChange.all(from: standing(.active), to: asked) == [.priceIncreasePending])
        #expect(SubscriptionChange.all(from: asked, to: agreed) == [.priceIncreaseAccepted])
        #expect(SubscriptionChange.all(from: standing(.active), to: agreed) == [.priceIncreaseAccepted])
        #expect(SubscriptionChange.all(from: agreed, to: agreed).isEmpty)
        #expect(SubscriptionChange.all(from: asked, to: standing(.active)).isEmpty)
    }
}
