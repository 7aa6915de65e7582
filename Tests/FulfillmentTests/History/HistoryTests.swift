import ChanceTesting
import Foundation
import Messages
import Persistence
import PersistenceTesting
import Postgres
import PurchaseModel
import Testing

@testable import Fulfillment

/// The same signed data in any order, any number of times, in any batches, leaves the same rows.
///
/// Every seed makes a history, in which purchases have one to five transaction ids. It is settled once in its order, and once shuffled, repeated and cut at random, by four tasks
/// at once. More seeds: `COUNTERSIGN_HISTORIES=1000`, others: `COUNTERSIGN_HISTORIES_FROM=5000`.
@Suite("Shuffled histories", .serialized, .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct HistoryTests {
    private static let portions = HistorySeeds.portions(of: 20, count: 20)

    @Test(arguments: portions)
    func `whatever the order, the end is the same`(seeds: [UInt64]) async throws {
        try await Bench.with { bench in
            for seed in seeds {
                let ordered = History(seed: seed, prefix: "h\(seed)a.")
                let shuffled = History(seed: seed, prefix: "h\(seed)b.")
                try await settleInOrder(ordered, bench)
                try await settleShuffled(shuffled, bench)
                let first = try await HistoryState(of: ordered, bench.pool)
                let second = try await HistoryState(of: shuffled, bench.pool)
                let differences = first.differences(from: second)
                #expect(!(first.tables["orders"] ?? [:]).isEmpty)
                // One order a purchase, however many ids it has.
                #expect(first.orderCount == ordered.purchases.count, "seed \(seed), in order")
                #expect(second.orderCount == shuffled.purchases.count, "seed \(seed), shuffled")
                #expect(
                    differences.isEmpty,
                    "seed \(seed), in order and shuffled:\n\(differences.prefix(12).joined(separator: "\n"))")
            }
            try await bench.expectClean()
        }
    }

    /// Whether the accounts of tokens are known only when much of the shuffled history was said already.
    private func isLate(_ history: History) -> Bool { history.seed % 3 == 0 }

    private func registerTokens(of history: History, _ bench: Bench) async throws {
        for (token, account) in history.tokens {
            _ = try await AccountTokenStore(pool: bench.pool).register(
                app: history.app, token: token, account: account)
        }
    }

    private func prepare(_ history: History, _ bench: Bench) async throws -> Bench {
        _ = try await SubmissionStore(pool: bench.pool).accept(
            history.acts.indices.map { index in
                let message = history.submission(of: index)
                return SubmissionStore.NewSubmission(message: message, partitionKey: message.submissionId)
            }, lease: .seconds(600))
        var own = bench
        own.products = history.catalogue
        own.now = { History.end }
        return own
    }

    /// As it happened: the clock goes along, and ends what it ends.
    func settleInOrder(_ history: History, _ bench: Bench) async throws {
        try await registerTokens(of: history, bench)
        var bench = try await prepare(history, bench)
        var chance = SplitMix(seed: history.seed)
        let messages = history.acts.indices.flatMap { index in
            history.messages(of: index).map { (date: history.acts[index].date, message: $0) }
        }
        for batch in cut(messages, maximum: 4, &chance) {
            let now = batch.last?.date ?? History.end
            bench.now = { now }
            try await bench.settle(batch.map(\.message))
            if Int.random(in: 0..<8, using: &chance) == 0 { try await end(at: now, bench) }
        }
        try await end(at: History.end, bench)
    }

    /// Ends what ends by the clock.
    private func end(at now: Date, _ bench: Bench) async throws {
        try await EndSubscriptions(
            pool: bench.pool, subscriptions: UpdateSubscriptions(now: { now }),
            announce: AnnounceOutcomes { _ in }, eventLease: .seconds(30)
        ).look()
    }

    /// Some accounts are known only when much was said already, and what is parked is looked at meanwhile.
    func settleShuffled(_ history: History, _ bench: Bench) async throws {
        let bench = try await prepare(history, bench)
        let isLate = isLate(history)
        if !isLate { try await registerTokens(of: history, bench) }
        var chance = SplitMix(seed: history.seed &+ 1)
        let messages = history.acts.indices.flatMap { history.messages(of: $0) }
        // Half of them alone: what goes wrong there is no race.
        let streams = history.seed % 2 == 0 ? 4 : 1
        let repeated = messages + messages.filter { _ in Int.random(in: 0..<2, using: &chance) == 0 }
        let deck = repeated.shuffled(using: &chance)
        let size = (deck.count + streams - 1) / streams
        var hands: [[[VerdictMessage]]] = []
        for start in stride(from: 0, to: deck.count, by: max(1, size)) {
            hands.append(cut(Array(deck[start..<min(start + size, deck.count)]), maximum: 20, &chance))
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for batches in hands {
                group.addTask {
                    for (place, batch) in batches.enumerated() {
                        try await bench.settle(batch)
                        guard isLate, place == batches.count / 2 else { continue }
                        try await registerTokens(of: history, bench)
                        _ = try await bench.grantParked()
                    }
                }
            }
            try await group.waitForAll()
        }
        if isLate { _ = try await bench.grantParked() }
        try await end(at: History.end, bench)
    }

    private func cut<Element>(
        _ messages: [Element], maximum: Int, _ chance: inout SplitMix
    ) -> [[Element]] {
        var batches: [[Element]] = []
        var rest = messages[...]
        while !rest.isEmpty {
            let size = min(rest.count, Int.random(in: 1...maximum, using: &chance))
            batches.append(Array(rest.prefix(size)))
            rest = rest.dropFirst(size)
        }
        return batches
    }
}
