import ChanceTesting
import Foundation
import Messages
import Persistence
import PersistenceTesting
import Postgres
import PurchaseModel
import Testing

@testable import Fulfillment

private typealias Sub = SubscriptionBench

/// The same signed data in any order, any number of times, in any batches: the same rows.
@Suite("Shuffled subscriptions", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct SubscriptionShuffleTests {
    /// What Apple signed at one time.
    private enum Said: Sendable {
        case transaction(Transaction)
        case renewal(RenewalStatement)
    }

    @Test(arguments: UInt64(1)...6)
    func `a year of signed data ends where it ends`(seed: UInt64) async throws {
        var numbers = SplitMix(seed: seed)
        let said = year(&numbers)
        let now = Double.random(in: 0...420, using: &numbers)
        let expected = try await end(of: said.map { [$0] }, at: now, streams: 1)
        for streams in [1, 1, 3] {
            let again = said + said.filter { _ in Int.random(in: 0..<3, using: &numbers) == 0 }
            var batches: [[Said]] = []
            for one in again.shuffled(using: &numbers) {
                if batches.isEmpty || Bool.random(using: &numbers) { batches.append([]) }
                batches[batches.count - 1].append(one)
            }
            #expect(try await end(of: batches, at: now, streams: streams) == expected, "\(streams) streams")
        }
        try expectModel(said, at: now, expected)
    }

    private struct End: Equatable {
        let standing: SubscriptionStanding?
        let entitlements: [String]
    }

    private func end(of batches: [[Said]], at now: Double, streams: Int) async throws -> End {
        var end: End?
        try await Sub.with { bench in
            bench.on(now)
            var messages: [[VerdictMessage]] = []
            for batch in batches {
                var verdicts: [VerdictMessage] = []
                for said in batch {
                    switch said {
                    case .transaction(let transaction): verdicts.append(try await bench.verdict([transaction]))
                    case .renewal(let renewal): verdicts.append(try await bench.verdict([], [renewal]))
                    }
                }
                messages.append(verdicts)
            }
            let all = messages
            try await withThrowingTaskGroup(of: Void.self) { group in
                for stream in 0..<streams {
                    group.addTask {
                        for index in stride(from: stream, to: all.count, by: streams) {
                            try await bench.bench.settle(all[index])
                        }
                    }
                }
                try await group.waitForAll()
            }
            // Batches that were settled are repeated when a process dies before it says so.
            try await bench.bench.settle(try #require(all.randomElement()))
            // What was taken back before it was granted has no row; what was taken back later has one.
            let entitlements = try await bench.entitlements().filter { !$0.hasSuffix("refund") }
            end = End(standing: try await bench.standing(), entitlements: entitlements)
            let due = try await bench.bench.number(
                "SELECT count(*) FROM subscriptions WHERE due_at <= '\(Sub.day(now).ISO8601Format())'")
            #expect(due == 0)
        }
        return try #require(end)
    }

    /// The database says what the model says of the whole set.
    private func expectModel(_ said: [Said], at now: Double, _ end: End) throws {
        var known: [String: Transaction] = [:]
        var newest: RenewalStatement?
        for said in said {
            switch said {
            case .transaction(let posted):
                // A device posted it, and Apple cannot be asked.
                let transaction = posted.countingWithoutRevocation(after: Statement.deviceDelayDefault)
                known[transaction.transactionId] =
                    known[transaction.transactionId].map { $0.joined(with: transaction) } ?? transaction
            case .renewal(let renewal):
                if renewal.signedDate > newest?.signedDate ?? .distantPast { newest = renewal }
            }
        }
        let transactions = Array(known.values)
        #expect(
            end.standing == SubscriptionStanding.derived(from: transactions, renewal: newest, at: Sub.day(now)))
        let superseded = transactions.supersededPeriods.filter { known[$0]?.revocationDate == nil }
        let rows = end.entitlements.map { $0.split(separator: " ").map(String.init) }
        #expect(Set(rows.filter { $0[3] == "upgraded" }.map { $0[0] }).isSubset(of: superseded))
        for row in rows where superseded.contains(row[0]) { #expect(row[3] == "upgraded", "\(row)") }
        #expect(rows.count <= transactions.count)
    }

    /// A year by chance: renewals, lapses, changes of plan, refunds and their reversals, extensions, failed payments.
    private func year(_ numbers: inout SplitMix) -> [Said] {
        var said: [Said] = []
        var start = 0.0
        var product = "basic"
        for number in 1...12 {
            let chance = Int.random(in: 0..<12, using: &numbers)
            let length = number % 5 == 0 ? 90.0 : 30
            let period = Sub.period("\(number)", from: start, to: start + length, product: product)
            said.append(.transaction(period))
            said.append(.renewal(Sub.renewal(signed: start) { $0.renewalDate = period.expiresDate }))
            var next = period
            next.signedDate = Sub.day(start + 5)
            switch chance {
            case 0:
                next.revocationDate = Sub.day(start + 4)
                said.append(.transaction(next))
            case 1:
                next.revocationDate = Sub.day(start + 4)
                said.append(.transaction(next))
                var reversed = period
                reversed.signedDate = Sub.day(start + 8)
                said.append(.transaction(reversed))
            case 2:
                next.expiresDate = Sub.day(start + length + 7)
                said.append(.transaction(next))
                start += 7
            case 3, 4:
                next.isUpgraded = true
                next.signedDate = Sub.day(start + length / 2 + 1)
                if chance == 3 { said.append(.transaction(next)) }
                product = product == "basic" ? "premium" : "basic"
                start -= length / 2
            case 5:
                product = "lite"
                said.append(.renewal(Sub.renewal(signed: start + 3) { $0.renewalProductId = "lite" }))
            case 6, 7:
                let failed = Sub.renewal(signed: start + length) {
                    $0.isInBillingRetry = true
                    $0.gracePeriodExpiresDate = chance == 6 ? Sub.day(start + length + 6) : nil
                }
                said.append(.renewal(failed))
                start += 3
            case 8: start += 20
            default: break
            }
            start += length
        }
        return said
    }

    @Test func `a renewal statement before its subscription is known leads to the same end`() async throws {
        try await Sub.with { bench in
            bench.on(31)
            let failed = Sub.renewal(signed: 30) { $0.isInBillingRetry = true }
            try await bench.post([], [failed])
            #expect(try await bench.standing() == nil)
            try await bench.post([Sub.period("1", from: 0, to: 30)], [Sub.renewal(signed: 0)])
            #expect(try await bench.standing()?.state == .billingRetry)
        }
    }

    @Test(arguments: [false, true])
    func `two statements of one instant are told apart by what they say`(isReversed: Bool) async throws {
        try await Sub.with { bench in
            bench.on(1)
            try await bench.post([Sub.period("1", from: 0, to: 30)])
            let both = [Sub.renewal(signed: 1), Sub.renewal(signed: 1) { $0.willRenew = false }]
            for statement in isReversed ? both.reversed() : both { try await bench.post([], [statement]) }
            #expect(try await bench.standing()?.willRenew == true)
            try await bench.post([], both)
            #expect(try await bench.standing()?.willRenew == true)
        }
    }

    @Test func `a purchase and its renewal statement, settled at once by two, find each other`() async throws {
        try await Sub.with { bench in
            bench.on(31)
            for round in 1...20 {
                let id = "\(round)"
                let bought = try await bench.verdict([Sub.period(id, from: 0, to: 30, lineage: id)])
                let said = try await bench.verdict(
                    [], [Sub.renewal(signed: 30, lineage: id) { $0.isInBillingRetry = true }])
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for message in [bought, said] {
                        group.addTask { try await bench.bench.settle([message]) }
                    }
                    try await group.waitForAll()
                }
                #expect(try await bench.standing(id)?.state == .billingRetry, "round \(round)")
            }
        }
    }

    @Test func `what is no subscription leaves nothing behind`() async throws {
        try await Sub.with { bench in
            var plain = bench
            plain.bench.products = Bench.catalogue
            try await plain.post([Bench.signed("7"), Bench.signed("8", product: "pro")])
            #expect(try await bench.bench.number("SELECT count(*) FROM subscriptions") == 0)
            #expect(try await bench.bench.number("SELECT count(*) FROM renewal_statements") == 0)
        }
    }

    @Test func `two hundred subscriptions of one batch`() async throws {
        try await Sub.with { bench in
            bench.on(1)
            let periods = (1...200).map { Sub.period("\($0)", from: 0, to: 30, lineage: "\($0)") }
            try await bench.post(periods, periods.map { Sub.renewal(signed: 0, lineage: $0.transactionId) })
            #expect(try await bench.bench.number("SELECT count(*) FROM subscriptions WHERE state = 'active'") == 200)
            #expect(try await bench.events().count == 200)
        }
    }
}
