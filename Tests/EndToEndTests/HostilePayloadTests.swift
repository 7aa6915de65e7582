import Foundation
import Messages
import NIOHTTP1
import Postgres
import Testing

extension EndToEnd {
    /// What Apple might sign one day, and never has: no process ends of it, and nobody's purchase waits for it.
    ///
    /// `COUNTERSIGN_HOSTILE_PAYLOADS` says how many are played, and `COUNTERSIGN_HOSTILE_SEED` which: the number that is printed.
    @Suite("Payloads that are signed well and say what nobody expects")
    struct HostilePayloadTests {
        private static let app = "com.example.game"
        private static let accounts = 40
        /// Posts at a time.
        private static let posters = 8
        /// The longest that one payload waits for its outcome, beyond the lease after which it is sent again.
        private static let settling = Duration.seconds(90)
        private static let services = [
            "receipt-intake", "verification-worker-1", "verification-worker-2", "fulfillment", "notification",
        ]

        private static func setting(_ name: String, _ standard: UInt64) -> UInt64 {
            ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) } ?? standard
        }

        /// What became of one.
        private struct Posted: Sendable {
            let sample: HostilePayloads.Sample
            let status: Int
            let answer: String
            /// The submission's; nil where none was written.
            let id: String?
        }

        @Test(
            "no process ends, nothing is a 5xx, each has an outcome or another try, the books are right, and an honest purchase comes through"
        )
        func played() async throws {
            let count = Int(Self.setting("COUNTERSIGN_HOSTILE_PAYLOADS", 400))
            let seed = Self.setting("COUNTERSIGN_HOSTILE_SEED", UInt64(Date().timeIntervalSince1970))
            print("hostile payloads: \(count), COUNTERSIGN_HOSTILE_SEED=\(seed)")
            try await withStack { stack, client, database in
                let before = try await Self.processes(stack)
                var payloads = try HostilePayloads(stack, bundleId: Self.app, appAppleId: 1_000_000_001, seed: seed)
                let samples = try (0..<count).map { _ in try payloads.next() }
                let posted = try await Self.post(samples, client)
                for one in posted where one.status >= 500 {
                    Issue.record("\(one.status) \(one.answer.prefix(300)): \(one.sample.changes)")
                }
                let written = posted.filter { $0.id != nil }
                #expect(written.count > count / 3, "most were refused at the door: the posts themselves are wrong")
                try await Self.expectOutcomes(written, database)
                try await Self.expectReadable(client, database)
                for name in Self.services { try await AdminPort(client, stack, name).waitUntilReady() }
                #expect(try await Self.processes(stack) == before, "a process ended")
                try await Self.expectHonestPurchase(client)
                try await Ledger(database, stack).expectCleanAudit()
            }
        }

        /// Names and process ids of what runs.
        private static func processes(_ stack: Stack) async throws -> [String] {
            try await stack.command(["status"]).split(separator: "\n").map { line in
                line.split(separator: " ").prefix(2).joined(separator: " ")
            }
        }

        private static func post(
            _ samples: [HostilePayloads.Sample], _ client: IntakeClient
        ) async throws -> [Posted] {
            try await withThrowingTaskGroup(of: Posted.self) { group in
                var posted: [Posted] = []
                for (number, sample) in samples.enumerated() {
                    if number >= posters, let one = try await group.next() { posted.append(one) }
                    group.addTask { try await post(sample, account: "hostile-\(number % accounts)", client) }
                }
                for try await one in group { posted.append(one) }
                return posted
            }
        }

        private static func post(
            _ sample: HostilePayloads.Sample, account: String, _ client: IntakeClient
        ) async throws -> Posted {
            struct Identified: Decodable { let id: String }
            while true {
                let answer =
                    switch sample.payload {
                    case .transaction(let jws): try await client.post(jws, app: app, account: account, wait: 0)
                    case .notification(let jws):
                        try await client.send(
                            .POST, client.intake + "/v1/notifications",
                            body: Array(#"{"signedPayload":"\#(jws)"}"#.utf8))
                    }
                if answer.status == 503, answer.problem == "notifications-put-off" {
                    // Of a core notifications have a share, and nothing tells when there is some again: Apple comes later, too.
                    try await Task.sleep(for: .milliseconds(100))
                    continue
                }
                return Posted(
                    sample: sample, status: answer.status, answer: String(decoding: answer.body, as: UTF8.self),
                    id: (try? JSONDecoder().decode(Identified.self, from: answer.body))?.id)
            }
        }

        /// Each was decided, or is tried again at a time that is written down.
        private static func expectOutcomes(_ posted: [Posted], _ database: Database) async throws {
            let ids = Array(Set(posted.compactMap(\.id)))
            let undecided = try await database.wait(
                for: 0, within: settling + .milliseconds(20 * ids.count),
                "SELECT count(*) AS n FROM submissions WHERE id = ANY($1) AND state = 'received' AND reason IS NULL",
                [.textArray(ids)])
            let rows = try await database.rows(
                """
                SELECT id, state, coalesce(reason, '') AS reason, attempts, due_at IS NOT NULL AS is_due
                FROM submissions WHERE id = ANY($1)
                """, [.textArray(ids)])
            #expect(rows.count == ids.count)
            let samples = Dictionary(posted.compactMap { one in one.id.map { ($0, one.sample) } }) { first, _ in first }
            var outcomes: [String: Int] = [:]
            for row in rows {
                let (state, reason) = (
                    try row.decode("state", as: String.self), try row.decode("reason", as: String.self)
                )
                outcomes["\(state) \(reason)", default: 0] += 1
                guard state == "received" else { continue }
                let (attempts, isDue) = (
                    try row.decode("attempts", as: Int32.self), try row.decode("is_due", as: Bool.self)
                )
                let changes = samples[try row.decode("id")]?.changes ?? []
                print("hostile payload without an outcome, \(attempts) attempts: \(changes)")
                #expect(isDue, "\(changes)")
            }
            print("hostile payloads, by outcome:")
            for (outcome, count) in outcomes.sorted(by: { $0.key < $1.key }) { print("  \(count) \(outcome)") }
            #expect(undecided == 0, "nothing was said of so many")
        }

        /// What was written down of them is told, and to whoever asks for events.
        private static func expectReadable(_ client: IntakeClient, _ database: Database) async throws {
            let rows = try await database.rows(
                "SELECT transaction_id FROM orders WHERE app = $1 AND coalesce(account, 'hostile-') LIKE 'hostile-%'",
                [.text(app)])
            let ids = try rows.map { try $0.decode("transaction_id", as: String.self) }
            var paths = (0..<accounts).flatMap { number in
                ["", "/transactions", "/events", "/export"].map { "/v1/accounts/hostile-\(number)\($0)?app=\(app)" }
            }
            for id in ids {
                guard let name = id.addingPercentEncoding(withAllowedCharacters: .alphanumerics) else { continue }
                paths += ["/v1/orders/\(name)?app=\(app)", "/v1/orders/\(name)/why?app=\(app)"]
            }
            for path in paths {
                let answer = try await client.send(.GET, client.intake + path, headers: client.jsonHeaders)
                #expect(
                    answer.status < 500,
                    "\(path.prefix(200)): \(String(decoding: answer.body, as: UTF8.self).prefix(300))")
            }
        }

        private static func expectHonestPurchase(_ client: IntakeClient) async throws {
            let account = "honest-\(UUID().uuidString)"
            let sale = try #require(
                try await client.sell(["bundleId": app, "productId": "gems.100", "type": "Consumable"]).first)
            let purchase = try await client.purchase(sale.signedTransaction, app: app, account: account)
            #expect(purchase.state == "fulfilled" && purchase.finish, "\(purchase)")
            #expect(try await client.account(account, app: app).summary == "100 gem")
        }
    }
}
