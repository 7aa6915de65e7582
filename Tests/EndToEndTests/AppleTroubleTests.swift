import Foundation
import Messages
import Postgres
import Testing

extension EndToEnd {
    /// Apple slow, limiting, failing or away: nothing is lost, and nothing genuine is refused.
    @Suite("Apple in trouble")
    struct AppleTroubleTests {
        private static let app = "com.example.game"
        private static let everyKind = ["--proofs", "signed_transaction,receipt,transaction_id"]

        /// All of a load's purchases are granted once; none of its submissions was ever refused.
        private func expectAllGranted(_ report: Load.Report, _ database: Database, _ stack: Stack) async throws {
            try await Ledger(database, stack).expectExactlyOnce(report)
            let refused = try await database.number(
                """
                SELECT count(*) AS n FROM submissions WHERE state = 'rejected' AND account = ANY($1)
                """, [.textArray(report.purchases.map(\.account))])
            #expect(refused == 0, "genuine purchases that were refused")
        }

        @Test("half of Apple's answers are errors: every kind of proof is fulfilled", .timeLimit(.minutes(8)))
        func halfFails() async throws {
            try await withStack { stack, client, database in
                let rules = #"""
                    {"share":0.25,"seed":1,"fault":{"kind":"status","status":500}},
                    {"share":0.15,"seed":2,"fault":{"kind":"status","status":503,"body":"htmlPage"}},
                    {"share":0.15,"seed":3,"fault":{"kind":"reset"}},
                    {"share":0.1,"seed":4,"fault":{"kind":"truncatedBody"}}
                    """#
                let report = try await client.misbehaving(rules) {
                    try await Load(stack).run(
                        ["--count", "240", "--rate", "60", "--concurrency", "64", "--settle-timeout", "240"]
                            + Self.everyKind)
                }
                #expect(report.purchases.count == 240)
                try await expectAllGranted(report, database, stack)
            }
        }

        @Test("a storm of 429s: every kind of proof is fulfilled", .timeLimit(.minutes(8)))
        func tooManyRequests() async throws {
            try await withStack { stack, client, database in
                let rules = #"{"share":0.3,"seed":5,"fault":{"kind":"status","status":429,"retryAfterMs":1500}}"#
                let report = try await client.misbehaving(rules) {
                    try await Load(stack).run(
                        ["--count", "240", "--rate", "60", "--concurrency", "64", "--settle-timeout", "240"]
                            + Self.everyKind)
                }
                #expect(report.purchases.count == 240)
                try await expectAllGranted(report, database, stack)
            }
        }

        @Test("Apple is away for an hour: what only Apple can settle waits, is told of, and is granted when it is back")
        func anHourAway() async throws {
            try await withStack { stack, client, database in
                let sales = try await client.sell(
                    ["bundleId": Self.app, "productId": "gems.100", "type": "Consumable", "environment": "Production"],
                    count: 40)
                let ids = try await client.misbehaving(#"{"fault":{"kind":"status","status":503,"body":"empty"}}"#) {
                    var ids: [String] = []
                    for sale in sales {
                        ids.append(
                            try await client.accepted([
                                "app": Self.app, "account": "patient-\(sale.transactionId)",
                                "transaction_id": sale.transactionId,
                            ]))
                    }
                    // What needs nobody's answer is settled all the while.
                    let offline = try #require(
                        try await client.sell([
                            "bundleId": Self.app, "productId": "gems.100", "type": "Consumable",
                        ]).first)
                    let purchase = try await client.purchase(
                        offline.signedTransaction, app: Self.app, account: "not-affected")
                    #expect(purchase.state == "fulfilled")
                    try await anHourPasses(ids, database)
                    return ids
                }
                let granted = try await database.wait(
                    for: Int64(ids.count), within: .seconds(150),
                    "SELECT count(*) AS n FROM submissions WHERE id = ANY($1) AND state = 'fulfilled'",
                    [.textArray(ids)])
                #expect(granted == Int64(ids.count))
                let orders = try await database.number(
                    """
                    SELECT count(*) AS n FROM unnest($1::text[]) AS sold (id)
                    JOIN orders o ON o.transaction_id = sold.id AND o.account = 'patient-' || sold.id
                        AND o.state = 'granted'
                    """, [.textArray(sales.map(\.transactionId))])
                #expect(orders == Int64(sales.count))
                try await Ledger(database, stack).expectCleanAudit()
            }
        }

        /// Moves what waits an hour into the past, in steps, as if the clock had gone on; it is asked for at each step.
        private func anHourPasses(_ ids: [String], _ database: Database) async throws {
            for _ in 0..<6 {
                _ = try await database.rows(
                    """
                    UPDATE submissions SET due_at = due_at - interval '10 minutes',
                        received_at = received_at - interval '10 minutes'
                    WHERE id = ANY($1) AND state = 'received' RETURNING id
                    """, [.textArray(ids)])
                let late = try await database.wait(
                    for: 0, within: .seconds(30),
                    "SELECT count(*) AS n FROM submissions WHERE id = ANY($1) AND due_at <= now()", [.textArray(ids)])
                #expect(late == 0, "due submissions that nobody took up")
            }
            let alarmed = try await database.wait(
                for: Int64(ids.count), within: .seconds(30),
                "SELECT count(*) AS n FROM submissions WHERE id = ANY($1) AND alarmed_at IS NOT NULL",
                [.textArray(ids)])
            #expect(alarmed == Int64(ids.count), "an hour is the age of an alarm")
            let open = try await database.number(
                "SELECT count(*) AS n FROM submissions WHERE id = ANY($1) AND state = 'received'", [.textArray(ids)])
            #expect(open == Int64(ids.count), "nothing is known, so nothing is settled")
        }
    }
}
