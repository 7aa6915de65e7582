import Foundation
import Messages
import Postgres
import Testing

extension EndToEnd {
    /// Under load, every part is killed in turn; what was accepted is fulfilled all the same.
    @Suite("Never lost")
    struct NeverLostTests {
        /// Every process, the broker (it comes back empty) and the database.
        private static let parts = [
            "receipt-intake", "verification-worker-1", "verification-worker-2", "fulfillment", "notification",
            "broker", "postgres",
        ]

        @Test("kill -9 of each part under load: every accepted proof is fulfilled, once", .timeLimit(.minutes(10)))
        func everyPartDies() async throws {
            try await withStack { stack, _, database in
                async let report = Load(stack).run([
                    "--count", "4000", "--rate", "40", "--duplicates", "0.2", "--concurrency", "64",
                    "--settle-timeout", "180", "--proofs", "signed_transaction,receipt,transaction_id",
                ])
                for part in Self.parts {
                    #expect(try await someMoreAreGranted(database), "\(part) dies at work")
                    try await Stack.crash(part)
                }
                let finished = try await report
                #expect(finished.purchases.count == 4000)
                try await Ledger(database, stack).expectExactlyOnce(finished)
                let unsettled = try await database.wait(
                    for: 0, within: .seconds(60), "SELECT count(*) AS n FROM submissions WHERE due_at IS NOT NULL")
                #expect(unsettled == 0)
            }
        }

        /// Waits until the pipeline moves, so that the next crash hits it at work; false where it does not move.
        private func someMoreAreGranted(_ database: Database) async throws -> Bool {
            let sql = "SELECT count(*) AS n FROM orders WHERE state = 'granted'"
            let deadline = ContinuousClock.now + .seconds(60)
            var start: Int64?
            while ContinuousClock.now < deadline {
                // The database may be the part that was just killed: no answer is no progress.
                if let now = try? await database.number(sql) {
                    if let start, now >= start + 50 { return true }
                    if start == nil { start = now }
                }
                // Progress of other processes has no signal: a bounded question is all there is.
                try await Task.sleep(for: .milliseconds(100))
            }
            return false
        }

        @Test("a graceful stop under load leaves within its time, and loses nothing", .timeLimit(.minutes(5)))
        func gracefulStop() async throws {
            try await withStack { stack, _, database in
                async let report = Load(stack).run([
                    "--count", "1000", "--rate", "150", "--concurrency", "32", "--settle-timeout", "120",
                ])
                for part in ["verification-worker-1", "fulfillment", "notification", "receipt-intake"] {
                    // `restart` fails where SIGTERM was not enough.
                    try await Stack.command(["restart", part])
                }
                let finished = try await report
                #expect(finished.purchases.count == 1000)
                try await Ledger(database, stack).expectExactlyOnce(finished)
            }
        }
    }
}
