import Foundation
import Messages
import Postgres
import Testing

extension EndToEnd {
    /// Under load, every part is killed in turn; what was accepted is fulfilled all the same.
    @Suite("Never lost")
    struct NeverLostTests {
        /// Every process, the broker and the database.
        private static let parts = [
            "receipt-intake", "verification-worker-1", "verification-worker-2", "fulfillment", "notification",
            "broker", "postgres",
        ]

        @Test(
            "kill -9 of each part under load, a broker that keeps its data: every accepted proof is fulfilled, once",
            .timeLimit(.minutes(10)))
        func everyPartDies() async throws {
            if Broker.ofSharedStack != Broker.kafka.rawValue {
                print("SKIPPED: the broker is \(Broker.ofSharedStack ?? "unknown"), none came back with its data")
            }
            try await withStack { stack, _, database in
                try await expectOnceThrough(Self.parts, count: 4000, stack, database)
            }
        }

        /// Workers are not killed here: what Tansu's groups make of that is in `RollingRestartTests`.
        @Test(
            "kill -9 of a broker that comes back empty, twice: every accepted proof is fulfilled, once",
            .enabled(if: Broker.tansu.isAvailable, Broker.tansu.skipped), .timeLimit(.minutes(10)))
        func brokerComesBackEmpty() async throws {
            try await withStack(on: .tansu) { stack, _, database in
                try await expectOnceThrough(
                    ["receipt-intake", "broker", "postgres", "broker"], count: 1600, stack, database)
            }
        }

        /// Loads the stack, kills the parts in turn while they work, and looks at what became of each purchase.
        private func expectOnceThrough(
            _ parts: [String], count: Int, _ stack: Stack, _ database: Database
        ) async throws {
            let began = Date.now
            async let report = Load(stack).run([
                "--count", "\(count)", "--rate", "40", "--duplicates", "0.2", "--concurrency", "64",
                "--settle-timeout", "180", "--proofs", "signed_transaction,receipt,transaction_id",
            ])
            for part in parts {
                #expect(try await database.grantsMore(50), "\(part) dies at work")
                try await stack.crash(part)
            }
            let finished = try await report
            #expect(finished.purchases.count == count)
            try await Ledger(database, stack).expectExactlyOnce(finished)
            try await Ledger(database, stack).expectNothingDue(since: began)
        }

        @Test("a graceful stop under load leaves within its time, and loses nothing", .timeLimit(.minutes(5)))
        func gracefulStop() async throws {
            try await withStack { stack, _, database in
                async let report = Load(stack).run([
                    "--count", "1000", "--rate", "150", "--concurrency", "32", "--settle-timeout", "120",
                ])
                for part in ["verification-worker-1", "fulfillment", "notification", "receipt-intake"] {
                    // `restart` fails where SIGTERM was not enough.
                    try await stack.command(["restart", part])
                }
                let finished = try await report
                #expect(finished.purchases.count == 1000)
                try await Ledger(database, stack).expectExactlyOnce(finished)
            }
        }
    }
}
