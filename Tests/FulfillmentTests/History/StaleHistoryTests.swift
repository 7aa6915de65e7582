import ChanceTesting
import Foundation
import Messages
import Persistence
import PersistenceTesting
import Postgres
import PurchaseModel
import ServiceRuntime
import Testing

@testable import Fulfillment

/// Histories with devices that show what was refunded as if it were not, and with words that nobody knows.
///
/// Every second seed is of an app about which Apple can be asked. More seeds: `COUNTERSIGN_HISTORIES`, as of `HistoryTests`.
@Suite("Stale and strange histories", .serialized, .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct StaleHistoryTests {
    private static let portions = HistorySeeds.portions(of: 12, count: 24, from: 20_001)

    @Test(arguments: portions)
    func `whatever the order, the end is the same, and no refund is undone by a device`(seeds: [UInt64]) async throws {
        try await Bench.with { bench in
            var (refunds, held) = (0, 0)
            for seed in seeds {
                let ordered = Self.history(seed, prefix: "h\(seed)a.")
                let shuffled = Self.history(seed, prefix: "h\(seed)b.")
                var bench = bench
                if seed % 2 == 0 { bench.apps = try Self.asked([ordered.app, shuffled.app]) }
                try await HistoryTests().settleInOrder(ordered, bench)
                try await HistoryTests().settleShuffled(shuffled, bench)
                let first = try await HistoryState(of: ordered, bench.pool)
                let differences = first.differences(from: try await HistoryState(of: shuffled, bench.pool))
                #expect(
                    differences.isEmpty,
                    "seed \(seed), in order and shuffled:\n\(differences.prefix(12).joined(separator: "\n"))")
                for history in [ordered, shuffled] {
                    let standing = try await expectRefunds(of: history, isAsked: seed % 2 == 0, bench)
                    refunds += standing.refunds
                    held += standing.held
                }
            }
            #expect(refunds > 0 && held > 0, "the seeds have both")
            try await bench.expectClean()
        }
    }

    /// By the acts, and not by what was decided: what Apple's server said last of a transaction id that has one id.
    private func expectRefunds(
        of history: History, isAsked: Bool, _ bench: Bench
    ) async throws -> (refunds: Int, held: Int) {
        let rows = try await bench.pool.query(
            """
            SELECT o.transaction_id, o.state, coalesce(o.reason, '') AS reason FROM orders o WHERE o.app = $1
                AND NOT EXISTS (SELECT FROM order_transactions i WHERE (i.environment, i.order_transaction_id)
                    = (o.environment, o.transaction_id) AND i.transaction_id <> o.transaction_id)
            """, [.text(history.app)]
        ).rows
        var said: [String: (date: Date, isRevoked: Bool)] = [:]
        for act in history.acts where act.poster == nil {
            for transaction in act.transactions {
                let isRevoked = transaction.revocationDate != nil
                let known = said[transaction.transactionId]
                // Of one date the revocation counts.
                let isNewer = known.map { known in
                    known.date < transaction.signedDate || known.date == transaction.signedDate && isRevoked
                }
                guard isNewer ?? true else { continue }
                said[transaction.transactionId] = (transaction.signedDate, isRevoked)
            }
        }
        var (refunds, held) = (0, 0)
        for row in rows {
            let id: String = try row.decode("transaction_id")
            let state: String = try row.decode("state")
            if try row.decode("reason", as: String.self) == "vocabulary_unknown" { held += 1 }
            guard isAsked, let last = said[id], last.isRevoked else { continue }
            refunds += 1
            #expect(state == "revoked", "\(id): Apple's server said last that it is revoked")
        }
        return (isAsked ? refunds : 0, held)
    }

    private static func asked(_ apps: [String]) throws -> CurrentApps {
        let file = FileManager.default.temporaryDirectory.appending(path: "apps-\(UUID().uuidString).yaml")
        defer { try? FileManager.default.removeItem(at: file) }
        let issuer = "57246542-96fe-1a63-e053-0824d011072a"
        let key = "{ issuer_id: \(issuer), key_id: 2X9R4HXF34, private_key_file: /no/key.p8 }"
        let text = "app_store_server_api: \(key)\napps:\n" + apps.map { "  - { bundle_id: \($0) }\n" }.joined()
        try Data(text.utf8).write(to: file)
        return CurrentApps(try AppsFile.load(path: file.path, secrets: []))
    }

    // MARK: - What is said more

    private static func history(_ seed: UInt64, prefix: String) -> History {
        var history = History(seed: seed, prefix: prefix)
        var chance = SplitMix(seed: seed &+ 77)
        addWords(to: &history, &chance)
        addStaleDevices(to: &history, &chance)
        return history
    }

    /// After a revocation that Apple told, the player's device posts the transaction as if nothing was, soon or late; of what it
    /// posted before, so that whose it is does not hang on it.
    private static func addStaleDevices(to history: inout History, _ chance: inout SplitMix) {
        var posters: [String: String] = [:]
        for act in history.acts where act.kind == .signedTransaction {
            for transaction in act.transactions where transaction.revocationDate == nil {
                posters[HistoryBuilder.firstId(of: transaction.transactionId)] = act.poster
            }
        }
        for act in history.acts where act.poster == nil {
            for revoked in act.transactions where revoked.revocationDate != nil {
                guard let poster = posters[HistoryBuilder.firstId(of: revoked.transactionId)] else { continue }
                let delay: Double = [0.5, 5, 3_600, 2 * History.day].randomElement(using: &chance) ?? 5
                var stale = revoked
                (stale.revocationDate, stale.revocationReason, stale.revocationType) = (nil, nil, nil)
                stale.revocationPercentage = nil
                stale.signedDate += delay
                stale.evidence = #"{"stale":"\#(stale.transactionId)"}"#
                guard stale.signedDate <= History.end else { continue }
                history.acts.append(
                    History.Act(
                        date: stale.signedDate, poster: poster, kind: .signedTransaction, transactions: [stale],
                        claims: nil, renewals: [], consents: [], notification: nil, parts: 1))
            }
        }
        history.acts = history.acts.enumerated()
            .sorted { ($0.element.date, $0.offset) < ($1.element.date, $1.offset) }.map(\.element)
    }

    /// Some lineages have a word that nobody knows.
    ///
    /// Of those that stand in receipts it is none of what was bought and by whom:
    /// a receipt does not say either, and what it granted stays, so that the order would matter.
    private static func addWords(to history: inout History, _ chance: inout SplitMix) {
        let inReceipts = Set(
            history.acts.filter { $0.kind == .receipt }.flatMap(\.transactions).map(\.originalTransactionId))
        let lineages = Set(history.acts.flatMap(\.transactions).map(\.originalTransactionId)).sorted()
        // What is of an unknown type is as many orders as it has ids.
        let withCopies = Set(
            history.acts.flatMap(\.transactions).filter {
                HistoryBuilder.firstId(of: $0.transactionId) != $0.transactionId
            }
            .map(\.originalTransactionId))
        var words: [String: Int] = [:]
        for lineage in lineages where Int.random(in: 0..<3, using: &chance) == 0 {
            let least = inReceipts.contains(lineage) ? 3 : withCopies.contains(lineage) ? 1 : 0
            words[lineage] = Int.random(in: least...4, using: &chance)
        }
        for (place, act) in history.acts.enumerated() where act.kind != .receipt {
            for (index, transaction) in act.transactions.enumerated() {
                guard let word = words[transaction.originalTransactionId] else { continue }
                var changed = transaction
                switch word {
                case 0: changed.productType = ProductType(appleName: "Subscription Bundle")
                case 1: (changed.ownership, changed.priceMilliunits) = ("ASSIGNED", nil)
                case 2: changed.bundleField = "bundleTransactionId"
                case 3: (changed.offerType, changed.transactionReason) = (9, changed.transactionReason)
                default: if changed.revocationDate != nil { changed.revocationType = "TAKEN" }
                }
                history.acts[place].transactions[index] = changed
            }
        }
    }
}
