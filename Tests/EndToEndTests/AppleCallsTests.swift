import Foundation
import Messages
import NIOHTTP1
import Postgres
import ProcessTesting
import Testing

extension EndToEnd {
    /// What Apple asks and is told, on real processes, one of which is killed.
    @Suite("What Apple is told")
    struct AppleCallsTests {
        private static let app = "com.example.told"
        private static let playersCount = 8

        private struct Answers: Decodable {
            struct Answer: Decodable {
                struct Body: Decodable, Equatable {
                    let customerConsented: Bool
                    let sampleContentProvided: Bool
                    let deliveryStatus: String
                    let consumptionPercentage: Int?
                    let refundPreference: String?
                }
                let transactionId: String
                let body: Body
            }
            let consumptionAnswers: [Answer]
        }

        /// A purchase without a token, posted by its player, who consents or not.
        private static func buy(_ player: String, consents: Bool?, _ client: IntakeClient) async throws -> String {
            let sale = try #require(
                try await client.sell(["bundleId": app, "productId": "gems.100", "type": "Consumable"]).first)
            #expect(try await client.purchase(sale.signedTransaction, app: app, account: player).state == "fulfilled")
            if let consents {
                let answer = try await client.send(
                    .PUT, "\(client.intake)/v1/accounts/\(player)/consent", headers: client.jsonHeaders,
                    body: Array(#"{"app":"\#(app)","consented":\#(consents)}"#.utf8))
                #expect(answer.status == 200)
            }
            return sale.transactionId
        }

        private static func answers(_ client: IntakeClient) async throws -> [Answers.Answer] {
            let made = try await client.controlled("GET", "consumption-answers")
            return try JSONDecoder().decode(Answers.self, from: made).consumptionAnswers
        }

        @Test(
            "refunds are answered from the ledger with consent alone, purchases finished, tokens set, while a worker dies"
        )
        func told() async throws {
            try await withStack { stack, client, database in
                let run = UInt32.random(in: 0...UInt32.max)
                var ids: [String] = []
                for number in 0..<Self.playersCount {
                    // The first consents and spends, the second refuses, the third was never asked.
                    let consents: Bool? = number == 1 ? false : number == 2 ? nil : true
                    ids.append(try await Self.buy("told-\(run)-\(number)", consents: consents, client))
                }
                let spent = try await client.send(
                    .POST, "\(client.intake)/v1/accounts/told-\(run)-0/spend",
                    headers: client.jsonHeaders.merging(["idempotency-key": "s"]) { $1 },
                    body: Array(#"{"app":"\#(Self.app)","items":[{"item":"gem","amount":25}]}"#.utf8))
                #expect(spent.status == 200, "\(String(decoding: spent.body, as: UTF8.self))")
                for id in ids { try await client.control("POST", "transactions/\(id)/refund-request", "{}") }
                // What was granted a moment ago is finished now.
                _ = try await database.rows(
                    "UPDATE apple_calls SET due_at = now() WHERE app = $1 AND kind = 'finish' AND state = 'ready' RETURNING 1 AS one",
                    [.text(Self.app)])
                try await stack.crash("verification-worker-1")
                // What the dead worker had leased is due again.
                _ = try await database.rows(
                    "UPDATE apple_calls SET due_at = now() WHERE app = $1 AND state = 'ready' RETURNING 1 AS one",
                    [.text(Self.app)])
                try await expectDone(ids, database)
                try await expectAnswers(ids, client, database)
                try await expectForwarded(database)
                try await expectCommands(ids, stack, database)
            }
        }

        private func expectDone(_ ids: [String], _ database: Database) async throws {
            for kind in ["finish", "account_token"] {
                let done = try await database.wait(
                    for: Int64(ids.count), within: .seconds(60),
                    """
                    SELECT count(*) AS n FROM apple_calls WHERE kind = $1 AND state = 'done' AND transaction_id = ANY($2)
                    """, [.text(kind), .textArray(ids)])
                #expect(done == Int64(ids.count), "\(kind)")
            }
            // Those without consent stay open.
            let answered = try await database.wait(
                for: Int64(ids.count) - 2, within: .seconds(60),
                "SELECT count(*) AS n FROM apple_calls WHERE kind = 'consumption' AND state = 'done' AND transaction_id = ANY($1)",
                [.textArray(ids)])
            #expect(answered == Int64(ids.count) - 2)
        }

        private func expectAnswers(_ ids: [String], _ client: IntakeClient, _ database: Database) async throws {
            let answers = try await Self.answers(client).filter { ids.contains($0.transactionId) }
            #expect(Set(answers.map(\.transactionId)) == Set([ids[0]] + ids[3...]))
            for answer in answers {
                let isFirst = answer.transactionId == ids[0]
                #expect(answer.body.customerConsented && answer.body.sampleContentProvided)
                #expect(answer.body.deliveryStatus == "DELIVERED")
                #expect(answer.body.consumptionPercentage == (isFirst ? 25_000 : 0))
                #expect(answer.body.refundPreference == (isFirst ? "DECLINE" : "GRANT_FULL"))
            }
            let kept = try await database.number(
                "SELECT count(*) AS n FROM apple_calls WHERE body LIKE '%\"consumptionPercentage\":25000%' AND transaction_id = $1",
                [.text(ids[0])])
            #expect(kept == 1)
        }

        /// Every notification went on to the older consumer, which took each for one that it knows.
        private func expectForwarded(_ database: Database) async throws {
            let sql = """
                SELECT count(*) AS n FROM apple_notifications n LEFT JOIN notification_forwards f USING (app, notification_uuid)
                WHERE n.app = $1 AND f.state IS DISTINCT FROM 'delivered'
                """
            #expect(try await database.wait(for: 0, within: .seconds(60), sql, [.text(Self.app)]) == 0)
        }

        private func expectCommands(_ ids: [String], _ stack: Stack, _ database: Database) async throws {
            let shown = try await stack.built("countersign", ["refunds", "preview", ids[1]]).result()
            #expect(shown.contains("but it is not sent: the account does not consent"), "\(shown)")
            let test = try await stack.built("countersign", ["apple", "test-notification", Self.app]).result()
            #expect(test.contains("Apple sent the test notification, and it was taken"), "\(test)")
            let came = try await database.wait(
                for: 1, within: .seconds(30),
                "SELECT least(count(*), 1) AS n FROM apple_notifications WHERE app = $1 AND type = 'TEST'",
                [.text(Self.app)])
            #expect(came == 1)
            let options = ["--app", Self.app, "--type", "CONSUMPTION_REQUEST"]
            let listed = try await stack.built("countersign", ["apple", "notifications", "list"] + options).result()
            #expect(listed.contains("CONSUMPTION_REQUEST: fulfilled"), "\(listed)")
            let before = try await database.number(
                "SELECT count(*) AS n FROM apple_calls WHERE app = $1", [.text(Self.app)])
            let replayed = try await stack.built(
                "countersign", ["apple", "notifications", "replay"] + options + ["--yes", "--reason", "a test"]
            ).result()
            #expect(replayed.contains("are judged again now"), "\(replayed)")
            let settled = try await database.wait(
                for: 0, within: .seconds(30),
                "SELECT count(*) AS n FROM submissions WHERE app = $1 AND state = 'received'", [.text(Self.app)])
            #expect(settled == 0)
            // Nothing is asked, finished or named a second time.
            let after = try await database.number(
                "SELECT count(*) AS n FROM apple_calls WHERE app = $1", [.text(Self.app)])
            #expect(after == before)
        }
    }
}
