import Foundation
import Messages
import Persistence
import PersistenceTesting
import Postgres
import PurchaseModel
import Testing

@testable import Fulfillment

/// The same proofs in many orders, repetitions and batches, from one process and from three at once.
///
/// What does not depend on the order:
/// - each transaction that any proof holds is one order, and is granted at most once;
/// - what one account claims, and no token names, is that account's; what a token names and no receipt claims is the
///   token's account's; what a token of nobody names and no receipt claims is nobody's;
/// - what nobody claims and no token names is nobody's, whoever posted it in a receipt;
/// - every submission is settled, with the outcome that follows from how its orders stand in the end;
/// - balances, ledger, entitlements, events and sequences agree.
///
/// First come, first served: which of several claimers has it, and whether a receipt's claim (receipts made offline carry
/// no token) or the signed transaction with its token was there first. A token may also move an order that is held for its
/// product; a submission that was settled before stays as it was told.
@Suite("Shuffled proofs", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct ShuffledProofsTests {
    @Test(arguments: UInt64(1)...10)
    func `whatever the order, each is granted once and to nobody else`(seed: UInt64) async throws {
        try await Bench.with { bench in
            var world = ShuffledWorld(seed: seed)
            // Some accounts are known only when much was said already.
            let isLate = seed % 3 == 0
            let registered = world.registered
            @Sendable func register() async throws {
                for (token, account) in registered {
                    _ = try await AccountTokenStore(pool: bench.pool).register(
                        app: Bench.app, token: token, account: account)
                }
            }
            if !isLate { try await register() }
            var messages: [VerdictMessage] = []
            for proof in world.proofs { messages += try await world.messages(of: proof, bench) }
            let streams = world.delivered(messages, streams: seed % 2 == 0 ? 3 : 1)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for batches in streams {
                    group.addTask {
                        for (place, batch) in batches.enumerated() {
                            try await bench.settle(batch)
                            if isLate, place == batches.count / 2 { try await register() }
                        }
                    }
                }
                try await group.waitForAll()
            }
            if !isLate {
                try await expectFacts(world, bench)
                try await expectOutcomes(messages, bench)
            }
            var later = bench
            later.products = ShuffledWorld.wholeCatalogue
            _ = try await later.grantParked()
            #expect(try await bench.number("SELECT count(*) FROM orders WHERE reason = 'product_unknown'") == 0)
            try await expectFacts(world, bench)
            try await expectOutcomes(messages, bench)
        }
    }

    private func expectFacts(_ world: ShuffledWorld, _ bench: Bench) async throws {
        let held = Set(world.proofs.flatMap(\.transactions))
        #expect(try await bench.number("SELECT count(*) FROM orders") == Int64(held.count))
        for id in held {
            let standing = try #require(try await bench.standing(of: id)).split(separator: " ").map(String.init)
            let owners = world.owners(of: id)
            #expect(owners.contains(standing[2]), "\(id) is \(standing), and could be of \(owners.sorted())")
            if owners == ["-"] {
                #expect(standing[0] == "parked", "\(id) is nobody's")
                #expect(standing[1] == (world.token(of: id) == nil ? "unclaimed" : "account_token_unknown"))
                let token = try await bench.column("app_account_token", of: id)
                #expect(token == world.token(of: id)?.uuidString.lowercased(), "the better statement is kept")
            } else if standing[2] != "-" {
                #expect(standing[0] == "granted" || standing[1] == "product_unknown", "\(id)")
            }
        }
        let granted = try await bench.number("SELECT count(*) FROM orders WHERE state = 'granted'")
        #expect(try await bench.number("SELECT count(DISTINCT transaction_id) FROM ledger_entries") == granted)
        #expect(try await bench.number("SELECT count(*) FROM ledger_entries") == granted)
        #expect(try await bench.number("SELECT coalesce(sum(amount), 0) FROM balances") == 100 * granted)
        #expect(try await bench.number("SELECT count(*) FROM submissions WHERE state = 'received'") == 0)
        try await bench.expectClean()
    }

    private func expectOutcomes(_ messages: [VerdictMessage], _ bench: Bench) async throws {
        let keys = Set(
            messages.flatMap { message -> [OrderKey] in
                guard case .genuine(let transactions) = message.verdict else { return [] }
                return transactions.map { OrderKey(environment: .production, transactionId: $0.transactionId) }
            })
        let orders = try await bench.pool.withConnection { connection in
            try await OrderStore.lock(Array(keys), on: connection)
        }
        let summaries = Dictionary(orders.map { ($0.key, OrderSummary($0)) }) { first, _ in first }
        func judged(_ message: VerdictMessage) -> Judged {
            let row = SubmissionStore.Row(
                app: message.app, account: Account(stored: message.account), kind: .receipt, isServer: false,
                state: .received)
            return Judged(message, row: row, place: 0)
        }
        let parts = Dictionary(grouping: messages.filter(\.isPartial), by: \.submissionId)
        for message in messages where !message.isPartial {
            guard case .genuine(let transactions) = message.verdict else { continue }
            let expected = SubmissionOutcomes.whole(
                SubmissionOutcomes.genuine(transactions, of: judged(message), summaries),
                parked: (parts[message.submissionId] ?? []).flatMap {
                    SubmissionOutcomes.parked(judged($0), summaries)
                })
            let outcome = try #require(try await bench.outcome(message.submissionId))
            // What is settled stays so, though a token gives an order that is held to another account later.
            if outcome.state != .parked, others(in: outcome) != others(in: expected) { continue }
            #expect(outcome.state == expected.state, "\(message.submissionId)")
            #expect(outcome.reason == expected.reason, "\(message.submissionId)")
            #expect(outcome.finish == expected.finish, "\(message.submissionId)")
        }
    }

    private func others(in outcome: SubmissionOutcome) -> Set<OrderKey> {
        Set(outcome.transactions.filter { $0.reason == .belongsToAnotherAccount }.map(\.key))
    }
}
