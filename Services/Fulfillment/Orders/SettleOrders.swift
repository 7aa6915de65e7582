import Foundation
import Messages
import Persistence
import Postgres
import PurchaseModel

/// Makes orders of what the verdicts of a batch say, and grants those that are somebody's now.
struct SettleOrders: Sendable {
    let recorder: OrderRecorder
    let revise: ReviseOrders
    var owners = SettleOwners()

    /// What became of the orders of a batch.
    struct Settled: Sendable {
        /// How each order of the batch stands.
        var standings: [OrderKey: OrderStore.Standing] = [:]
        /// The orders of the batch that were there before.
        var known: Set<OrderKey> = []
        /// The orders that others may wait for: parked before, and decided anew.
        var changed: [OrderKey] = []
        /// What is to be told.
        var drafts: [EventDraft] = []
        /// The lineages of which an order or the owner changed, with the correlation id of what led to it.
        var lineages: [LineageKey: String] = [:]
        /// How many were granted, and how many of those were parked before.
        var granted = 0
        var claimed = 0
    }

    /// What a batch says, and by what it is decided.
    struct Batch: Sendable {
        let stated: [StatedTransaction]
        let catalogue: Catalogue
        /// Whose the tokens in the batch are.
        let tokens: [AppToken: String]
        /// Whose the lineages are, locked.
        let book: OwnerBook

        /// - Parameter others: whose the tokens are that the batch does not tell of.
        func decision(
            _ stated: StatedTransaction, _ transaction: PurchasedTransaction, holder: OrderHolder? = nil,
            knowing others: [AppToken: String] = [:]
        ) -> OrderDecision {
            stated.decision(
                transaction, holder: holder, in: book, tokens: others.merging(tokens) { $1 }, by: catalogue)
        }
    }

    /// Writes, by the catalogue that is in use.
    ///
    /// Parked orders of the batch stay locked until the transaction's end, so that what is read of them here is still so
    /// when the submissions are settled.
    ///
    /// - Throws: `PostgresError`.
    func settle(
        _ verdicts: [VerdictMessage], by catalogue: Catalogue, on connection: PostgresConnection
    ) async throws -> Settled {
        let stated = StatedTransaction.all(in: verdicts)
        guard !stated.isEmpty else { return Settled() }
        let batch = try await load(stated, by: catalogue, on: connection)
        let decided = stated.map { stated in
            let transaction = stated.transaction()
            return recorded(stated, transaction, batch.decision(stated, transaction))
        }
        let new = try await insert(decided, of: stated, on: connection)
        let fresh = decided.filter { new.contains($0.key) }
        let known = stated.filter { !new.contains($0.key) }
        let held = try await ParkedOrderStore.lock(
            known.map(\.key), lineages: batch.book.keysWithNewOwner, on: connection)
        let moved = try await owners.move(batch.book, held: held, on: connection)
        let parked = try await decideAnew(held.filter { !new.contains($0.key) }, in: batch, on: connection)
        let revised = try await revise.revise(
            known.filter { !parked.written.contains($0.key) }, by: catalogue, granting: fresh + parked.changed,
            decide: { batch.decision($0, $1, holder: $2, knowing: $3) }, on: connection)
        var settled = Settled()
        settled.known = Set(known.map(\.key))
        settled.drafts = moved + revised.drafts
        settled.changed = parked.changed.map(\.key) + revised.changed + batch.book.waitedFor(in: held)
        settled.claimed = parked.changed.count { $0.decision.state == .granted }
        settled.granted = fresh.count { $0.decision.state == .granted } + settled.claimed + revised.granted
        settled.standings = try await OrderStore.standings(of: known.map(\.key), on: connection)
        for order in fresh { settled.standings[order.key] = standing(order) }
        for stated in stated {
            guard let owner = batch.book[stated.lineage] else { continue }
            settled.standings[stated.key]?.sharers = owner.lineage.sharers
            settled.standings[stated.key]?.limitedAccounts = owner.limitedAccounts
        }
        settled.lineages = batch.book.correlations
        // Consumables have no lineage, and nobody works anything out of it.
        for order in fresh + parked.orders where batch.book[order.lineage] != nil {
            settled.lineages[order.lineage] = order.correlationId
        }
        for stated in known where revised.lineages.contains(stated.lineage) {
            settled.lineages[stated.lineage] = stated.verdict.correlationId
        }
        return settled
    }

    /// Locks the lineages, and writes whose they are by what the batch says; consumables have none.
    private func load(
        _ stated: [StatedTransaction], by catalogue: Catalogue, on connection: PostgresConnection
    ) async throws -> Batch {
        let tokens = try await tokens(of: stated.flatMap(\.statements), on: connection)
        // Another transaction of the same lineage may have said what it is.
        let untyped = stated.filter { $0.statements.allSatisfy { $0.isOfUnknownType(by: catalogue) } }
        let words = LineageWord.all(
            in: stated, catalogue: catalogue,
            known: try await LineageStore.known(Set(untyped.map(\.lineage)), on: connection))
        let locked = try await owners.lock(words.compactMapValues { $0.first?.statements[0].bundleId }, on: connection)
        let book = try await owners.hear(words, in: locked, tokens: tokens, by: catalogue, on: connection)
        return Batch(stated: stated, catalogue: catalogue, tokens: tokens, book: book)
    }

    private func insert(
        _ decided: [OrderRecorder.Recorded], of stated: [StatedTransaction], on connection: PostgresConnection
    ) async throws -> Set<OrderKey> {
        try await OrderStore.insert(
            zip(stated, decided).map { stated, decided in
                OrderStore.NewOrder(
                    environment: decided.key.environment, transaction: decided.transaction,
                    decision: decided.decision, submissionId: stated.verdict.submissionId,
                    correlationId: decided.correlationId)
            }, on: connection)
    }

    /// The accounts of tokens that are registered.
    func tokens(
        of transactions: [PurchasedTransaction], on connection: PostgresConnection
    ) async throws -> [AppToken: String] {
        let tokens = transactions.compactMap { transaction in
            transaction.appAccountToken.map { AppToken(app: transaction.bundleId, token: $0) }
        }
        return try await AccountTokenStore.accounts(
            of: Set(tokens).map { (app: $0.app, token: $0.token) }, on: connection)
    }

    func recorded(
        _ stated: StatedTransaction, _ transaction: PurchasedTransaction, _ decision: OrderDecision
    ) -> OrderRecorder.Recorded {
        OrderRecorder.Recorded(
            key: stated.key, transaction: transaction, decision: decision,
            correlationId: stated.verdict.correlationId)
    }

    private func standing(_ order: OrderRecorder.Recorded) -> OrderStore.Standing {
        OrderStore.Standing(
            state: order.decision.state, reason: order.decision.reason, account: order.decision.account,
            testPurchase: order.key.environment == .sandbox ? order.transaction.testPurchase : nil)
    }
}
