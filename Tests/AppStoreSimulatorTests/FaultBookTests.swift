import Foundation
import HTTPTypes
import Synchronization
import Testing

@testable import AppStoreSimulator

@Suite("Fault book")
struct FaultBookTests {
    /// Our own time, as a test sets it.
    private final class Watch: Sendable {
        let now = Mutex<Int64>(1_000_000)

        func pass(_ milliseconds: Int64) {
            now.withLock { $0 += milliseconds }
        }
    }

    private static func rules(_ json: String) throws -> [FaultRule] {
        try JSONDecoder().decode([FaultRule].self, from: Data(json.utf8))
    }

    /// Which of so many requests meet a fault.
    private static func hits(_ book: FaultBook, _ count: Int) -> [Bool] {
        (0..<count).map { _ in isHit(book) }
    }

    private static func isHit(_ book: FaultBook, path: String = "/inApps/v1/history/1") -> Bool {
        book.verdict(environment: .production, method: "GET", path: path).action != nil
    }

    @Test("a share of one half with a seed hits the same requests each time, and about half of them")
    func shareWithSeed() throws {
        let rules = try Self.rules(#"[{"fault":{"kind":"reset"},"share":0.5,"seed":7}]"#)
        let sequences = try (0..<2).map { _ in
            let book = FaultBook()
            try book.add(rules: rules, notifications: nil)
            return Self.hits(book, 200)
        }
        #expect(sequences[0] == sequences[1])
        #expect((70...130).contains(sequences[0].count { $0 }))
    }

    @Test("a share of 0 never hits, of 1 always")
    func shareOfNoneAndAll() throws {
        for (share, count) in [(0, 0), (1, 50)] {
            let book = FaultBook()
            try book.add(rules: Self.rules(#"[{"fault":{"kind":"hang"},"share":\#(share)}]"#), notifications: nil)
            #expect(Self.hits(book, 50).count { $0 } == count)
        }
    }

    @Test("a count stops after so many, and the report says how often each acted")
    func count() throws {
        let book = FaultBook()
        try book.add(
            rules: Self.rules(#"[{"fault":{"kind":"reset"},"count":2},{"fault":{"kind":"hang"},"count":1}]"#),
            notifications: nil)
        #expect(Self.hits(book, 5) == [true, true, true, false, false])
        let report = book.report.rules
        #expect(report.map(\.acted) == [2, 1])
        #expect(report.map(\.matched) == [2, 1])
        #expect(report.map(\.isOver) == [true, true])
    }

    @Test("a rule ends when its time is over, a storm its time after it began")
    func time() throws {
        let watch = Watch()
        let book = FaultBook { watch.now.withLock { $0 } }
        try book.replace(rules: Self.rules(#"[{"fault":{"kind":"reset"},"until":2}]"#), notifications: .init())
        #expect(Self.isHit(book))
        watch.pass(1_999)
        #expect(Self.isHit(book))
        watch.pass(1)
        #expect(!Self.isHit(book))
        try book.replace(
            rules: Self.rules(#"[{"fault":{"kind":"unauthorizedStorm","seconds":1.5}}]"#), notifications: .init())
        watch.pass(60_000)
        for passing: Int64 in [0, 1_499] {
            watch.pass(passing)
            guard case .answer(let answer) = book.verdict(environment: .sandbox, method: "GET", path: "/").action else {
                Issue.record("no storm")
                return
            }
            #expect(answer.status == .unauthorized)
        }
        watch.pass(1)
        #expect(!Self.isHit(book))
    }

    @Test("waiting times add up and are limited; the first other fault decides")
    func order() throws {
        let book = FaultBook()
        try book.add(
            rules: Self.rules(
                """
                [{"fault":{"kind":"latency","ms":100}},{"fault":{"kind":"latency","ms":20}},
                 {"fault":{"kind":"emptyBody"}},{"fault":{"kind":"reset"}},{"fault":{"kind":"latency","ms":1}}]
                """), notifications: nil)
        let verdict = book.verdict(environment: .production, method: "GET", path: "/x")
        #expect(verdict.delay == 120)
        guard case .emptyBody = verdict.action else {
            Issue.record("not the first fault: \(String(describing: verdict.action))")
            return
        }
        #expect(book.report.rules.map(\.acted) == [1, 1, 1, 0, 0])
        try book.add(
            rules: Self.rules(#"[{"fault":{"kind":"latency","ms":120000}}]"#), notifications: nil)
        book.clear()
        let long = #"{"fault":{"kind":"latency","ms":120000}}"#
        try book.add(rules: Self.rules("[\(long),\(long)]"), notifications: nil)
        #expect(book.verdict(environment: .production, method: "GET", path: "/x").delay == 120_000)
    }

    @Test("a distribution has its median and its 99th percentile, and a seed repeats it")
    func distribution() throws {
        let rules = try Self.rules(#"[{"fault":{"kind":"latency","medianMs":100,"p99Ms":1000},"seed":1}]"#)
        let runs = try (0..<2).map { _ in
            let book = FaultBook()
            try book.add(rules: rules, notifications: nil)
            return (0..<4_000).map { _ in book.verdict(environment: .sandbox, method: "PUT", path: "/").delay }
        }
        #expect(runs[0] == runs[1])
        let sorted = runs[0].sorted()
        #expect((90...110).contains(sorted[2_000]))
        #expect((800...1_250).contains(sorted[3_960]))
    }

    @Test("a rule is for what it matches only")
    func match() throws {
        let book = FaultBook()
        try book.add(
            rules: Self.rules(
                """
                [{"match":{"environment":"Sandbox","path":"/inApps/v2/","group":"history","method":"GET"},
                  "fault":{"kind":"reset"}}]
                """), notifications: nil)
        let path = "/inApps/v2/history/1"
        func isHit(_ environment: StoreEnvironment, _ method: String, _ path: String) -> Bool {
            book.verdict(environment: environment, method: method, path: path).action != nil
        }
        #expect(isHit(.sandbox, "GET", path))
        #expect(!isHit(.production, "GET", path))
        #expect(!isHit(.sandbox, "POST", path))
        #expect(!isHit(.sandbox, "GET", "/inApps/v1/history/1"))
        #expect(!isHit(.sandbox, "GET", "/inApps/v2/refund/lookup/1"))
    }

    @Test(
        "each endpoint is in its group",
        arguments: [
            ("/inApps/v1/transactions/1", EndpointGroup.transactions),
            ("/inApps/v1/transactions/appTransactions/1", .transactions),
            ("/inApps/v1/transactions/1/appAccountToken", .transactions),
            ("/inApps/v1/transactions/1/finish", .transactions), ("/inApps/v2/history/1", .history),
            ("/inApps/v1/history/1", .history), ("/inApps/v1/subscriptions/1", .subscriptions),
            ("/inApps/v1/subscriptions/extend/1", .extend), ("/inApps/v1/subscriptions/extend/mass", .extend),
            ("/inApps/v1/subscriptions/extend/mass/p/r", .extend), ("/inApps/v2/refund/lookup/1", .refunds),
            ("/inApps/v1/lookup/ORDER", .orders), ("/inApps/v1/transactions/consumption/1", .consumption),
            ("/inApps/v2/transactions/consumption/1", .consumption),
            ("/inApps/v1/notifications/history", .notifications),
            ("/inApps/v1/notifications/test/t", .notifications), ("/verifyReceipt", .verifyReceipt),
        ])
    func groups(_ path: String, _ group: EndpointGroup) {
        let groups = EndpointGroup.allCases.filter { $0.contains(path: path) }
        #expect(Set(groups) == [.all, group])
    }

    @Test("a path that is no endpoint is in no group but all")
    func noGroup() {
        for path in ["/", "", "/inApps", "/inApps/v3/history/1", "/inApps/v1", "/other"] {
            #expect(EndpointGroup.allCases.filter { $0.contains(path: path) } == [.all])
        }
    }
}
