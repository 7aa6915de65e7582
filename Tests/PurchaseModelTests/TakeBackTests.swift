import PurchaseModel
import Testing

@Suite("How much is taken back")
struct TakeBackTests {
    private let bought = Statements.signed(at: 1)

    private func refund(_ percentage: Int64?) -> Transaction {
        Statements.revoked(at: 2, percentage: percentage)
    }

    private func change(
        _ before: Transaction, _ after: Transaction, granted: Int64 = 100, taken: Int64 = 0,
        balance: Int64, _ policy: TakeBackPolicy = .toZero
    ) -> Int64 {
        TakeBack(from: before, to: after).change(granted: granted, taken: taken, balance: balance, policy: policy)
    }

    @Test(
        "a refund in full",
        arguments: zip(
            [TakeBackPolicy.toZero, .toZero, .toZero, .toNegative, .leave], [250, 30, -5, 30, 30] as [Int64]))
    func full(policy: TakeBackPolicy, balance: Int64) {
        let expected: Int64 =
            switch (policy, balance) {
            case (.toZero, 30): -30
            case (.toZero, -5), (.leave, _): 0
            default: -100
            }
        #expect(change(bought, refund(nil), balance: balance, policy) == expected)
    }

    @Test(
        "a share is rounded down, in the player's favour",
        arguments: zip(
            [0, 1, 33_333, 50_000, 99_999, 100_000, 250_000, -1] as [Int64?], [0, 0, 33, 50, 99, 100, 100, 0]))
    func prorated(percentage: Int64?, taken: Int64) {
        #expect(change(bought, refund(percentage), balance: 1000) == -taken)
    }

    @Test func `the largest amount has a share`() {
        #expect(
            change(bought, refund(50_000), granted: .max, balance: .max) == -(Int64.max / 2),
            "the product has more than 64 bits")
    }

    @Test func `a reversal gives back what was taken, and no more`() {
        #expect(change(refund(nil), bought, taken: 30, balance: 0) == 30)
        #expect(change(refund(nil), bought, taken: 100, balance: -70, .toNegative) == 100)
        #expect(change(refund(nil), bought, taken: 0, balance: 7, .leave) == 0)
        #expect(change(refund(nil), bought, taken: 40, balance: 7, .leave) == 40, "the policy was another then")
    }

    @Test func `another share takes or gives the difference`() {
        #expect(change(refund(50_000), refund(nil), taken: 50, balance: 500) == -50)
        #expect(change(refund(50_000), refund(nil), taken: 50, balance: 20) == -20)
        #expect(change(refund(50_000), refund(nil), taken: 50, balance: 20, .toNegative) == -50)
        #expect(change(refund(nil), refund(50_000), taken: 100, balance: 0) == 50)
        #expect(change(refund(nil), refund(50_000), taken: 30, balance: 0) == 0, "less was taken than is due")
        #expect(change(refund(50_000), refund(50_000), taken: 10, balance: 500) == 0, "said twice, taken once")
        #expect(change(bought, bought, balance: 500) == 0)
    }

    @Test("whatever shares come between, as much is taken in the end", arguments: [0, 20, 100, 400] as [Int64])
    func steps(balance: Int64) {
        let shares: [Int64?] = [nil, 25_000, 50_000, 66_666]
        for first in shares {
            for last in shares {
                var held = balance
                var taken: Int64 = 0
                for (before, after) in [(bought, refund(first)), (refund(first), refund(last))] {
                    let change = change(before, after, taken: taken, balance: held)
                    held += change
                    taken -= change
                }
                #expect(-taken == change(bought, refund(last), balance: balance), "\(first ?? 0), then \(last ?? 0)")
            }
        }
    }
}
