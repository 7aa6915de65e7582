import Foundation
import NIOHTTP1
import Postgres
import ProcessTesting
import Testing

extension EndToEnd {
    /// What nobody tells of, found by workers that are killed at it.
    @Suite("The sweep under kills")
    struct SweepTests {
        private static let app = "com.example.strict"
        private static let workers = ["verification-worker-1", "verification-worker-2"]
        private static let salesCount = 45
        /// So that a test need not wait for a dead worker's lease.
        private static let times = "COUNTERSIGN_SWEEP_LEASE=3\nCOUNTERSIGN_SWEEP_INTERVAL=0.2\n"

        @Test("our endpoint was away for days, workers are killed while they ask: everybody has what was paid for")
        func outage() async throws {
            try await withStack { stack, client, database in
                let run = UInt32.random(in: 0...UInt32.max)
                let players = (0..<Self.salesCount).map { "unheard-\(run)-\($0)" }
                try await away(client) {
                    try await client.setStoreClock(Date(timeIntervalSinceNow: -9 * 86_400))
                    for player in players {
                        let token = try await client.intent(player, app: Self.app, product: "gems.100")
                        _ = try await client.sell([
                            "bundleId": Self.app, "productId": "gems.100", "appAccountToken": token,
                        ])
                    }
                    // Apple's six attempts are over, and it says no more of it.
                    try await client.advanceStore("P8D")
                    try await client.setStoreClock(Date())
                    #expect(try await granted(players, database) == 0)
                    try await sweeping(stack) {
                        // Three pages, each late enough to die before it is written down.
                        try await client.control(
                            "PUT", "faults",
                            #"""
                            {"rules":[{"match":{"path":"/inApps/v1/notifications/history"},
                            "fault":{"kind":"latency","ms":300}}]}
                            """#)
                        async let report = reconcile(stack)
                        try await killWhileItAsks(stack, database)
                        let (status, text) = try await report
                        #expect(status == 0, "\(text)")
                        #expect(text.contains("is over: "), "\(text)")
                    }
                    try await client.control("DELETE", "faults")
                    #expect(try await granted(players, database) == Int64(players.count))
                }
                try await expectRight(players, database)
                try await Ledger(database, stack).expectCleanAudit()
            }
        }

        private func granted(_ players: [String], _ database: Database) async throws -> Int64 {
            try await database.number(
                "SELECT count(*) AS n FROM balances WHERE account = ANY($1) AND item = 'gem' AND amount = 100",
                [.textArray(players)])
        }

        private func expectRight(_ players: [String], _ database: Database) async throws {
            let told = try await database.number(
                """
                SELECT count(*) AS n FROM events WHERE account = ANY($1) AND type = 'iap.transaction.recovered'
                """, [.textArray(players)])
            #expect(told == Int64(players.count))
            let orders = try await database.number(
                "SELECT count(*) AS n FROM orders WHERE account = ANY($1)", [.textArray(players)])
            #expect(orders == Int64(players.count))
        }

        /// What an operator runs after a restore; it waits until all of it is there.
        private func reconcile(_ stack: Stack) async throws -> (Int32, String) {
            let result = try await stack.built(
                "countersign",
                [
                    "reconcile", "--since", Date(timeIntervalSinceNow: -10 * 86_400).ISO8601Format(), "--app", Self.app,
                    "--reason", "a test", "--timeout", "120",
                ]
            ).run()
            return (result.status, result.output)
        }

        /// Kills both workers while a page of the round is known and the next is asked for.
        private func killWhileItAsks(_ stack: Stack, _ database: Database) async throws {
            let asked = try await database.wait(
                for: 1, within: .seconds(60),
                """
                SELECT count(*) AS n FROM sweep_tasks WHERE app = $1 AND environment = 'production'
                    AND kind = 'notifications' AND page IS NOT NULL
                """, [.text(Self.app)])
            #expect(asked == 1, "no worker was in the middle of a round")
            for worker in Self.workers { try await stack.command(["kill", worker]) }
            for worker in Self.workers { try await stack.command(["start", worker]) }
        }

        /// Runs the workers with short times.
        private func sweeping(_ stack: Stack, _ body: () async throws -> Void) async throws {
            func settings(_ text: String?) async throws {
                for worker in Self.workers {
                    let file = stack.configuration("\(worker).env")
                    if let text {
                        try Data(text.utf8).write(to: file)
                    } else {
                        try? FileManager.default.removeItem(at: file)
                    }
                    try await stack.command(["restart", worker])
                }
            }
            try await settings(Self.times)
            do {
                try await body()
            } catch {
                try? await settings(nil)
                throw error
            }
            try await settings(nil)
        }

        /// Lets the app's notifications go where nobody listens.
        private func away(_ client: IntakeClient, _ body: () async throws -> Void) async throws {
            func notifications(_ url: String, kept: Bool) async throws {
                try await client.control(
                    "PUT", "apps/\(Self.app)",
                    #"{"keepsNotifications":\#(kept),"notificationURLs":{"Production":"\#(url)"}}"#)
            }
            try await client.control("PUT", "apps/\(Self.app)/products/gems.100", #"{"type":"Consumable","price":990}"#)
            try await notifications("http://127.0.0.1:1/", kept: true)
            do {
                try await body()
            } catch {
                try? await notifications("", kept: false)
                try? await client.control("DELETE", "faults")
                try? await client.setStoreClock(Date())
                throw error
            }
            try await notifications("", kept: false)
        }
    }
}
