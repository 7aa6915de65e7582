import Foundation
import Testing

@testable import PurchaseModel

/// Runs of a subscription: who paid anew after it had lapsed.
@Suite("Runs of subscriptions")
struct SubscriptionRunsTests {
    private static func day(_ number: Double) -> Date { Date(timeIntervalSince1970: number * 86_400) }

    private static func period(
        _ id: String, _ from: Double, _ to: Double, reason: String? = "RENEWAL", token: Bool = false,
        owned: Bool = false
    ) -> SubscriptionRuns.Period {
        SubscriptionRuns.Period(
            transactionId: id, purchaseDate: day(from), end: day(to), hasToken: token, reason: reason,
            isOwned: owned)
    }

    private static func runs(_ periods: [SubscriptionRuns.Period]) -> SubscriptionRuns {
        var runs = SubscriptionRuns()
        for period in periods.shuffled() { runs.add([period]) }
        return runs
    }

    @Test func `a purchase after a gap begins a run, and its renewals belong to it`() {
        let runs = Self.runs([
            Self.period("1", 0, 30, reason: "PURCHASE", owned: true), Self.period("2", 30, 60, owned: true),
            Self.period("3", 90, 120, reason: "PURCHASE"),
        ])
        #expect(runs.newRun(of: Self.day(0)) == nil && runs.newRun(of: Self.day(30)) == nil)
        #expect(runs.newRun(of: Self.day(90)) == Self.day(90))
        #expect(runs.isNewest(Self.day(90)) && !runs.isSettled(Self.day(90)))
    }

    @Test func `a late payment for the old run is none, nor is an upgrade in the middle of a period`() {
        let runs = Self.runs([
            Self.period("1", 0, 30, reason: "PURCHASE", owned: true), Self.period("2", 50, 80),
            Self.period("3", 60, 90, reason: "PURCHASE"),
        ])
        #expect(runs.newRun(of: Self.day(50)) == nil && runs.newRun(of: Self.day(60)) == nil)
    }

    @Test func `a token says whose a run is`() {
        let runs = Self.runs([
            Self.period("1", 0, 30, reason: "PURCHASE"), Self.period("2", 50, 80, reason: "PURCHASE", token: true),
        ])
        #expect(runs.newRun(of: Self.day(50)) == nil)
    }

    @Test func `a run that Apple renewed, or of which somebody has a period, is settled`() {
        let start = Self.period("2", 50, 80, reason: "PURCHASE")
        let first = Self.period("1", 0, 30, reason: "PURCHASE", owned: true)
        #expect(!Self.runs([first, start]).isSettled(Self.day(50)))
        #expect(Self.runs([first, start, Self.period("3", 80, 110)]).isSettled(Self.day(50)))
        #expect(
            Self.runs([first, start, Self.period("3", 60, 90, reason: "PURCHASE", owned: true)]).isSettled(Self.day(50))
        )
        let later = Self.runs([first, start, Self.period("3", 200, 230, reason: "PURCHASE")])
        #expect(!later.isNewest(Self.day(50)) && later.isNewest(Self.day(200)))
    }

    @Test func `what is stored and what is signed of one period are one`() {
        var runs = SubscriptionRuns()
        runs.add([Self.period("1", 0, 30, reason: nil, owned: true)])
        runs.add([Self.period("1", 0, 30, reason: "PURCHASE")])
        #expect(runs.periods.count == 1)
        #expect(runs.periods[0].isOwned && runs.periods[0].reason == "PURCHASE")
        var together = SubscriptionRuns()
        together.add([Self.period("1", 0, 30, reason: nil, owned: true), Self.period("1", 0, 30, reason: "PURCHASE")])
        #expect(together.periods.count == 1)
        #expect(together.periods[0].isOwned && together.periods[0].reason == "PURCHASE")
    }

    @Test func `periods of one moment are of one run, and asked for a moment between two, the earlier one counts`() {
        let runs = Self.runs([
            Self.period("1", 0, 30, reason: "PURCHASE", owned: true), Self.period("2", 50, 80, reason: "PURCHASE"),
            Self.period("3", 50, 80, reason: "PURCHASE", token: true),
        ])
        // The second of them begins no other run: the first has not ended.
        #expect(runs.newRun(of: Self.day(50)) == Self.day(50))
        #expect(runs.newRun(of: Self.day(49)) == nil)
        #expect(runs.newRun(of: Self.day(500)) == Self.day(50))
        #expect(runs.newRun(of: Self.day(-1)) == nil)
        #expect(SubscriptionRuns().newRun(of: Self.day(0)) == nil && SubscriptionRuns().isNewest(Self.day(0)))
    }

    /// Four times as many periods are four times the work, and a little; were each compared with each, it were sixteen times.
    @Test func `a lineage of thousands of periods is divided in about linear time`() throws {
        func seconds(_ count: Int) -> Double {
            // A third of them follow nothing, and nobody has those.
            let periods = (0..<count).map { (number: Int) -> SubscriptionRuns.Period in
                let length: Int = number % 3 == 0 ? 5 : 10
                let reason: String? = number % 3 == 1 ? nil : "RENEWAL"
                return Self.period("\(number)", Double(number * 10), Double(number * 10 + length), reason: reason)
            }
            func work() -> Int {
                var runs = SubscriptionRuns()
                runs.add(periods)
                return runs.periods.count { period in
                    runs.newRun(of: period.purchaseDate).map { runs.isSettled($0) || runs.isNewest($0) } ?? false
                }
            }
            // The time of this thread, and not of the clock: the machine may do other things, too.
            return (0..<5).map { _ in
                let start = Self.threadSeconds()
                #expect(work() > 0)
                return Self.threadSeconds() - start
            }.min() ?? 0
        }
        _ = seconds(1_250)
        let (few, many) = (seconds(1_250), seconds(5_000))
        #expect(few > 0 && many / few < 9, "\(few) s and \(many) s")
    }

    private static func threadSeconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
