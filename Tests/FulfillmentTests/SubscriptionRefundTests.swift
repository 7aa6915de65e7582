import Foundation
import Messages
import PersistenceTesting
import PurchaseModel
import Testing

@testable import Fulfillment

private typealias Sub = SubscriptionBench

@Suite("Subscriptions and what Apple takes back", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct SubscriptionRefundTests {
    private let first = Sub.period("1", from: 0, to: 30)
    private let second = Sub.period("2", from: 30, to: 60)

    private func refunded(_ period: Transaction, on number: Double) -> Transaction {
        var period = period
        period.revocationDate = Sub.day(number)
        period.revocationType = "REFUND_FULL"
        period.signedDate = Sub.day(number)
        return period
    }

    @Test func `a refund of the current period revokes the subscription, a reversal restores it`() async throws {
        try await Sub.with { bench in
            bench.on(40)
            try await bench.post([first, second])
            try await bench.post([refunded(second, on: 40)])
            #expect(try await bench.standing()?.state == .revoked)
            #expect(try await bench.entitlements() == ["1 player 30 -", "2 player 60 refund"])
            var reversed = second
            reversed.signedDate = Sub.day(45)
            bench.on(45)
            try await bench.post([reversed])
            #expect(try await bench.standing()?.state == .active)
            #expect(try await bench.entitlements() == ["1 player 30 -", "2 player 60 -"])
            #expect(try await bench.events() == ["started", "revoked", "restored"])
        }
    }

    @Test func `an old receipt, posted again and asked about, ends no refund`() async throws {
        try await Sub.with { bench in
            bench.on(40)
            try await bench.post([first, second])
            try await bench.post([refunded(second, on: 40)])
            // The receipt states the type, verifyReceipt the owner: of the refund neither knows.
            var stated = second
            stated.priceMilliunits = nil
            stated.currency = nil
            stated.signedDate = Sub.day(41)
            try await bench.post([stated.fromReceipt])
            #expect(try await bench.standing()?.state == .revoked)
            #expect(try await bench.entitlements() == ["1 player 30 -", "2 player 60 refund"])
            #expect(try await bench.events() == ["started", "revoked"])
        }
    }

    @Test func `a refund of an older period leaves the subscription as it is`() async throws {
        try await Sub.with { bench in
            bench.on(40)
            try await bench.post([first, second])
            let before = try await bench.standing()
            try await bench.post([refunded(first, on: 40)])
            #expect(try await bench.standing() == before)
            #expect(try await bench.events() == ["started"])
            #expect(try await bench.entitlements() == ["1 player 30 refund", "2 player 60 -"])
        }
    }

    @Test func `what is bought after a refund begins it again`() async throws {
        try await Sub.with { bench in
            bench.on(40)
            try await bench.post([first, second])
            try await bench.post([refunded(second, on: 40)])
            try await bench.post([Sub.period("3", from: 41, to: 71)])
            #expect(try await bench.standing()?.state == .active)
            #expect(try await bench.events() == ["started", "revoked", "started"])
        }
    }

    @Test(arguments: [false, true])
    func `an upgrade and its refund leave one cause, whichever came first`(refundFirst: Bool) async throws {
        try await Sub.with { bench in
            bench.on(40)
            let year = Sub.period("1", from: 0, to: 400)
            try await bench.post([year])
            let steps = [[Sub.period("2", from: 10, to: 40, product: "premium")], [refunded(year, on: 12)]]
            for step in refundFirst ? steps.reversed() : steps { try await bench.post(step) }
            #expect(try await bench.entitlements() == ["1 player 400 refund", "2 player 40 -"])
        }
    }
}
