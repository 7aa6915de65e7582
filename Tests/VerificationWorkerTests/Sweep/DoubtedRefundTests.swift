import Foundation
import Messages
import NIOHTTP1
import Persistence
import Postgres
import PurchaseModel
import Testing

@testable import VerificationWorker

/// A device shows what Apple's server said was refunded, and Apple is asked.
@Suite("Doubted refunds", .enabled(if: SweepBooks.isThere, SweepBooks.missing))
struct DoubtedRefundTests {
    /// The transaction as StoreKit has it now.
    private static func signed(_ sold: Simulator.Sold, by store: Simulator) async throws -> Simulator.Sold {
        struct Answer: Decodable { let signedTransaction: String }
        let answer = try await store.control(.GET, "transactions/\(sold.transactionId)", as: Answer.self)
        return Simulator.Sold(
            transactionId: sold.transactionId, originalTransactionId: sold.originalTransactionId,
            signedTransaction: answer.signedTransaction)
    }

    private static func balance(_ books: SweepBooks) async throws -> Int64 {
        try await books.number("SELECT amount AS n FROM balances WHERE account = 'player' AND item = 'coin'")
    }

    @Test("a reversal that only the device saw is found by the question; an old copy is not believed")
    func reversal() async throws {
        try await SweepBooks.with { books in
            let store = books.stage.simulator
            try await store.setClock(Date(timeIntervalSinceNow: -3_600))
            let sold = try await store.sell("coins.100", type: "Consumable", to: "apple", token: nil)
            try await books.stage.withAccess { access in
                try await books.post(sold, by: "player")
                try await books.settle(access)
                try await store.advance("5m")
                // Signed before the refund, and posted after it.
                let stale = try await Self.signed(sold, by: store)
                try await store.advance("5m")
                try await store.refund(sold)
                try await books.sweep(access)
                try await books.hurry()
                try await books.sweep(access)
                #expect(try await books.state(of: sold) == "revoked revoked_by_apple")
                try await books.post(stale, by: "player")
                try await books.settle(access)
                #expect(try await books.state(of: sold) == "revoked revoked_by_apple")
                #expect(try await Self.balance(books) == 0)
                // Reversed, and its notification is lost: only the device knows.
                try await store.advance("5m")
                try await store.control(.POST, "transactions/\(sold.transactionId)/reverse-refund", "{}")
                try await store.advance("5m")
                try await books.post(try await Self.signed(sold, by: store), by: "player")
                try await books.settle(access)
                #expect(try await books.state(of: sold) == "revoked revoked_by_apple", "a device alone undoes nothing")
                #expect(
                    try await books.number(
                        "SELECT count(*) AS n FROM sweep_tasks WHERE cause = 'doubt' AND due_at <= now()") == 1)
                try await books.sweep(access)
                #expect(try await books.state(of: sold) == "granted")
                #expect(try await Self.balance(books) == 100)
                try await ConsistencyCheck(pool: books.pool).expectClean()
            }
        }
    }

    @Test("Apple confirms the refund: it stays, and nothing is asked again")
    func confirmed() async throws {
        try await SweepBooks.with { books in
            let store = books.stage.simulator
            let sold = try await store.sell("coins.100", type: "Consumable", to: "apple", token: nil)
            try await books.stage.withAccess { access in
                try await store.refund(sold)
                let refunded = try await Self.signed(sold, by: store)
                try await books.post(refunded, by: "player")
                try await books.settle(access)
                #expect(try await books.state(of: sold) == "revoked revoked_by_apple")
                // Signed before, posted after: no doubt.
                try await books.post(sold, by: "player")
                try await books.settle(access)
                #expect(try await books.number("SELECT count(*) AS n FROM sweep_tasks WHERE cause = 'doubt'") == 0)
            }
        }
    }
}
