import Foundation
import LogTesting
import Messages
import Persistence
import PersistenceTesting
import Postgres
import PurchaseModel
import Testing

@testable import Fulfillment

@Suite("Apple's refund requests", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct RefundRequestTests {
    private static let player = Account(stored: "player")

    private func consent(_ isGiven: Bool = true, _ bench: Bench) async throws {
        _ = try await AccountConsentStore(pool: bench.pool).set(isGiven, app: Bench.app, account: Self.player)
    }

    private func bench(_ bench: Bench, refund: RefundPolicy) -> Bench {
        var bench = bench
        bench.products = Catalogue([
            Bench.app: [
                Catalogue.Product(
                    id: "gems.100", type: .consumable, items: [Catalogue.ItemGrant(item: "gem", amount: 100)],
                    entitlements: [], refund: refund),
                Catalogue.Product(id: "pro", type: .nonConsumable, items: [], entitlements: ["pro"]),
            ]
        ])
        return bench
    }

    private func spend(_ amount: Int64, _ key: String, _ bench: Bench) async throws {
        let customer = Customer(environment: .production, app: Bench.app, account: Self.player)
        _ = try await SpendStore(pool: bench.pool).spend(
            SpendStore.Request(
                customer: customer, key: key, sha256: key,
                items: [Catalogue.ItemGrant(item: "gem", amount: amount)], reference: nil))
    }

    @Test func `asked again under other UUIDs within twelve hours, it is one request; later it is another`()
        async throws
    {
        try await Bench.with { bench in
            try await bench.buy("1")
            let first = Date(timeIntervalSinceNow: -3_600)
            // The later one comes first, two come in one batch, and one is a repetition of Apple's.
            let again = UUID()
            for hours in [[3.0], [0, 5], [5], [-11]] {
                var verdicts: [VerdictMessage] = []
                for hour in hours {
                    verdicts.append(
                        try await bench.appleNotification(
                            "CONSUMPTION_REQUEST", [Bench.signed("1")], uuid: hour == 5 ? again : UUID(),
                            signedDate: first + hour * 3_600, reason: "UNINTENDED_PURCHASE"))
                }
                try await bench.settle(verdicts)
            }
            // 3 h is the first that came; -11 h is fourteen hours before it.
            #expect(try await bench.calls() == ["consumption asked 1", "consumption asked 1"])
            #expect(try await bench.number("SELECT count(*) FROM apple_notifications") == 4)
            let reasons = "SELECT count(*) FROM apple_calls WHERE request_reason = 'UNINTENDED_PURCHASE'"
            #expect(try await bench.number(reasons) == 2)
        }
    }

    @Test func `without consent nothing is said; with it the ledger and the policy speak; taken back, it is silent`()
        async throws
    {
        try await Bench.with { plain in
            let bench = bench(
                plain, refund: RefundPolicy(preference: .grantProrated, whenConsumed: .decline, hasSample: true))
            try await bench.buy("1")
            try await bench.settle([try await bench.appleNotification("CONSUMPTION_REQUEST", [Bench.signed("1")])])
            try await bench.answerRefundRequests()
            #expect(try await bench.calls() == ["consumption asked 1"])
            let due = "SELECT count(*) FROM apple_calls WHERE due_at > now() + interval '11 hours'"
            #expect(try await bench.number(due) == 1)

            // Nobody spends here: the share is not known, and not said.
            try await consent(true, bench)
            try await bench.answerRefundRequests()
            #expect(
                try await bench.calls() == [
                    #"consumption ready 1 {"delivered": true, "preference": "grant_prorated", "sample_content": true}"#
                ])
            try await consent(false, bench)
            try await bench.answerRefundRequests()
            #expect(try await bench.calls() == ["consumption asked 1"])

            // 30 of the 100 are spent; 100 more were bought later, and are not of this purchase.
            try await bench.buy("2")
            try await spend(30, "s", bench)
            try await consent(true, bench)
            try await bench.answerRefundRequests()
            #expect(
                try await bench.calls() == [
                    #"consumption ready 1 {"consumed": 30000, "delivered": true, "preference": "decline", "sample_content": true}"#
                ])
        }
    }

    @Test func `a request about what nobody had is answered once it is somebody's who had agreed`() async throws {
        try await Bench.with { bench in
            try await consent(true, bench)
            try await bench.settle([try await bench.appleNotification("CONSUMPTION_REQUEST", [Bench.signed("1")])])
            try await bench.answerRefundRequests()
            #expect(try await bench.standing(of: "1") == "parked unclaimed -")
            #expect(try await bench.calls() == ["consumption asked 1"])
            #expect(
                try await bench.number("SELECT count(*) FROM apple_calls WHERE due_at > now() + interval '11 hours'")
                    == 1)
            // The account shows evidence of it, long before the deadline.
            try await bench.buy("1")
            #expect(try await bench.standing(of: "1") == "granted - player")
            try await bench.answerRefundRequests()
            let calls = try await bench.calls()
            #expect(calls.count == 1 && calls[0].hasPrefix("consumption ready 1 "), "\(calls)")
        }
    }

    @Test func `what was to be said for one account is not said once another has the purchase`() async throws {
        try await Bench.withOwners(RestoreRule(policy: .transfer)) { bench in
            try await bench.post("s1", Bench.signed("p1", product: "pro"), by: "player")
            try await consent(true, bench)
            try await bench.settle([
                try await bench.appleNotification("CONSUMPTION_REQUEST", [Bench.signed("p1", product: "pro")])
            ])
            try await bench.answerRefundRequests()
            #expect(try await bench.calls().first?.hasPrefix("consumption ready p1") == true)
            try await bench.post("s2", Bench.signed("p1", product: "pro"), by: "ben")
            #expect(try await bench.standing(of: "p1") == "granted - ben")
            try await bench.answerRefundRequests()
            #expect(try await bench.calls() == ["consumption asked p1"], "ben has agreed to nothing")
        }
    }

    @Test func `open requests are measured by what they wait for, with the time that is left to answer`() async throws {
        try await Bench.with { bench in
            let gauges = BacklogGauges(pool: bench.pool)
            func measured(_ waiting: String) async throws -> [Double?] {
                let values = try await gauges.measure()
                return [FulfillmentMetrics.openRequests, FulfillmentMetrics.requestSecondsLeft].map {
                    values[BacklogGauges.Series(name: $0, labels: ["waits_for": waiting])]
                }
            }
            try await bench.buy("1")
            #expect(try await measured("call") == [nil, nil])
            try await bench.settle([
                try await bench.appleNotification(
                    "CONSUMPTION_REQUEST", [Bench.signed("1")], signedDate: Date(timeIntervalSinceNow: -11 * 3_600))
            ])
            let silent = try await measured("consent")
            #expect(silent[0] == 1)
            #expect(silent[1].map { (3_500...3_600).contains($0) } == true, "\(silent)")
            try await consent(true, bench)
            #expect(try await measured("answer")[0] == 1)
            try await bench.answerRefundRequests()
            let ready = try await measured("call")
            #expect(ready[0] == 1 && ready[1].map { (3_500...3_600).contains($0) } == true, "\(ready)")
            #expect(try await measured("consent") == [0, 0])
            #expect(try await measured("answer") == [0, 0])
            _ = try await bench.pool.query(
                "UPDATE apple_calls SET state = 'done', due_at = NULL, finished_at = now()")
            #expect(try await measured("call") == [0, 0])
        }
    }

    @Test func `what was never delivered is said to be so, and the money is to go back`() async throws {
        try await Bench.with { bench in
            // A product that the catalogue does not know: parked, with its account.
            try await bench.settle([
                try await bench.verdict("buy", .genuine([Bench.signed("1", product: "gems.5")]))
            ])
            #expect(try await bench.standing(of: "1") == "parked product_unknown player")
            try await consent(true, bench)
            try await bench.settle([
                try await bench.appleNotification("CONSUMPTION_REQUEST", [Bench.signed("1", product: "gems.5")])
            ])
            try await bench.answerRefundRequests()
            #expect(
                try await bench.calls() == [
                    #"consumption ready 1 {"consumed": 0, "delivered": false, "preference": "grant_full", "sample_content": false}"#
                ])
        }
    }

    @Test func `at its end a request without consent lapses, and a late one is answered all the same`() async throws {
        try await Bench.with { bench in
            try await bench.buy("1")
            try await bench.buy("2", product: "pro")
            try await bench.settle([
                try await bench.appleNotification("CONSUMPTION_REQUEST", [Bench.signed("1")]),
                try await bench.appleNotification(
                    "CONSUMPTION_REQUEST", [Bench.signed("2", product: "pro")],
                    signedDate: Date(timeIntervalSinceNow: -13 * 3_600)),
            ])
            try await bench.answerRefundRequests()
            _ = try await bench.pool.query(
                """
                UPDATE apple_calls SET deadline_at = now() - interval '1 second', due_at = now(),
                    created_at = now() - interval '2 hours' WHERE transaction_id = '1'
                """)
            try await bench.answerRefundRequests()
            #expect(
                try await bench.calls().sorted() == ["consumption asked 2", "consumption lapsed 1 no_consent"])
            try await consent(true, bench)
            try await bench.answerRefundRequests()
            let calls = try await bench.calls()
            #expect(calls.contains { $0.hasPrefix("consumption ready 2") }, "\(calls)")
            #expect(calls.contains("consumption lapsed 1 no_consent"))
        }
    }

    @Test func `a notification is written down once, sent on where the app wants it, and a TEST is told of`()
        async throws
    {
        try await Bench.with { plain in
            var bench = plain
            bench.apps = try Bench.apps("forward_notifications: { url: \"https://old.example.com/apple\" }")
            let uuid = UUID()
            for _ in 0..<3 {
                try await bench.settle([
                    try await bench.appleNotification("TEST", uuid: uuid),
                    try await bench.appleNotification("REFUND_DECLINED"),
                ])
            }
            #expect(try await bench.number("SELECT count(*) FROM apple_notifications") == 4)
            #expect(try await bench.number("SELECT count(*) FROM notification_forwards WHERE state = 'pending'") == 4)
            let lines = bench.log.texts.filter { $0.contains("test notification came") }
            #expect(lines.count == 1, "\(lines)")
            let last = try await AppleNotificationStore(pool: bench.pool).last(ofType: "TEST")
            #expect(last.map(\.app) == [Bench.app])
        }
    }
}
