import Foundation
import PurchaseModel
import Testing

@Suite("What Apple is told about a refund")
struct ConsumptionAnswerTests {
    private static let bought = Date(timeIntervalSince1970: 1_700_000_000)
    private static let policy = RefundPolicy(preference: .grantProrated, whenConsumed: .decline, hasSample: true)

    private func answer(
        _ type: ProductType = .consumable, wasGranted: Bool = true,
        items: [(granted: Int64, balance: Int64, later: Int64)] = [], spendsHere: Bool = true, until: Date? = nil,
        policy: RefundPolicy = Self.policy, days: Double = 0
    ) -> ConsumptionAnswer {
        let facts = ConsumptionFacts(
            productType: type, wasGranted: wasGranted,
            items: items.map {
                ConsumptionFacts.Item(item: "gem", granted: $0.granted, balance: $0.balance, grantedLater: $0.later)
            }, spendsHere: spendsHere, purchaseDate: Self.bought, entitledUntil: until)
        return ConsumptionAnswer(facts, policy: policy, now: Self.bought + days * 86_400)
    }

    /// First in, first out: the balance is what came last.
    @Test(arguments: [
        (granted: 100, balance: 100, later: 0, used: 0), (100, 40, 0, 60), (100, 0, 0, 100), (100, -30, 0, 100),
        (100, 150, 100, 50), (100, 100, 100, 100), (100, 250, 100, 0), (100, 1_000, 0, 0),
    ])
    func `what later purchases brought is not this one's`(granted: Int, balance: Int, later: Int, used: Int) {
        let item = ConsumptionFacts.Item(
            item: "gem", granted: Int64(granted), balance: Int64(balance), grantedLater: Int64(later))
        #expect(item.used == Int64(used))
        let answer = answer(items: [(Int64(granted), Int64(balance), Int64(later))])
        #expect(answer.consumed == used * 1_000)
        #expect(answer.preference == (used > 0 ? .decline : .grantProrated))
        #expect(answer.isDelivered && answer.hasSample)
    }

    @Test func `of several items the mean is said, rounded down; of none, or where nobody spends here, nothing`() {
        #expect(answer(items: [(3, 2, 0), (10, 10, 0)]).consumed == 16_666)
        #expect(answer().consumed == nil)
        #expect(answer(items: [(100, 40, 0)], spendsHere: false).consumed == nil)
        #expect(answer(items: [(100, 40, 0)], spendsHere: false).preference == .grantProrated)
        #expect(answer(.nonConsumable).consumed == nil)
    }

    @Test func `a season is used by time, a subscription that renews never by us`() {
        let end = Self.bought + 40 * 86_400
        #expect(answer(.nonRenewing, until: end, days: 10).consumed == 25_000)
        #expect(answer(.nonRenewing, until: end, days: 90).consumed == ConsumptionAnswer.whole)
        #expect(answer(.nonRenewing, until: end, days: -1).consumed == 0)
        #expect(answer(.autoRenewable, items: [(100, 0, 0)], until: end, days: 10).consumed == nil)
        #expect(answer(.autoRenewable, wasGranted: false).consumed == nil)
    }

    @Test func `what was not delivered is to be refunded, and no share of it was used`() {
        let answer = answer(wasGranted: false, policy: RefundPolicy(preference: .decline))
        #expect(!answer.isDelivered)
        #expect(answer.consumed == 0)
        #expect(answer.preference == .grantFull)
        #expect(self.answer(policy: .silent).preference == nil)
    }
}
