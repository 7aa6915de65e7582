import Foundation
import Messages
import Persistence
import Postgres
import PurchaseModel

/// Makes orders of what the verdicts of a batch say, and grants those that are somebody's now.
struct SettleOrders: Sendable {
    let recorder: OrderRecorder
    let revise: ReviseOrders

    /// What became of the orders of a batch.
    struct Settled: Sendable {
        /// How each order of the batch stands.
        var standings: [OrderKey: OrderStore.Standing] = [:]
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
        let owners = try await owners(of: stated.flatMap(\.statements), on: connection)
        let decided = stated.map { stated in
            let transaction = stated.transaction()
            return recorded(
                stated, transaction, stated.decision(transaction, catalogue: catalogue, owners: owners))
        }
        let new = try await OrderStore.insert(
            zip(stated, decided).map { stated, decided in
                OrderStore.NewOrder(
                    environment: decided.key.environment, transaction: decided.transaction,
                    decision: decided.decision, submissionId: stated.verdict.submissionId,
                    correlationId: decided.correlationId)
            }, on: connection)
        let fresh = decided.filter { new.contains($0.key) }
        let known = stated.filter { !new.contains($0.key) }
        let (anew, changed) = try await claim(known, by: catalogue, on: connection)
        var settled = Settled()
        settled.drafts = try await recorder.record(fresh + changed, on: connection)
        settled.changed = changed.map(\.key)
        settled.claimed = changed.count { $0.decision.state == .granted }
        settled.granted = fresh.count { $0.decision.state == .granted } + settled.claimed
        let written = Set(anew.map(\.key))
        settled.standings = try await OrderStore.standings(
            of: known.map(\.key).filter { !written.contains($0) }, on: connection)
        for order in fresh + anew { settled.standings[order.key] = standing(order) }
        let revised = try await revise.revise(
            known.filter { !written.contains($0.key) }, by: catalogue,
            decide: { $0.decision($1, catalogue: catalogue, owners: owners) }, on: connection)
        settled.drafts += revised.drafts
        settled.standings.merge(revised.standings) { _, new in new }
        for order in fresh + anew { settled.lineages[order.lineage] = order.correlationId }
        for stated in known where revised.lineages.contains(stated.lineage) {
            settled.lineages[stated.lineage] = stated.verdict.correlationId
        }
        return settled
    }

    /// Decides anew what was recorded while it was nobody's.
    ///
    /// - Returns: all that were written, and those of them that were not only stated better.
    private func claim(
        _ known: [StatedTransaction], by catalogue: Catalogue, on connection: PostgresConnection
    ) async throws -> (written: [OrderRecorder.Recorded], changed: [OrderRecorder.Recorded]) {
        let held = try await ParkedOrderStore.lock(known.map(\.key), on: connection)
        let orphans = Dictionary(
            held.filter { $0.account == nil }.map { ($0.key, $0) }, uniquingKeysWith: { first, _ in first })
        guard !orphans.isEmpty else { return ([], []) }
        let pairs = known.compactMap { stated in orphans[stated.key].map { (stated: stated, parked: $0) } }
        let owners = try await owners(
            of: pairs.flatMap { [$0.parked.transaction] + $0.stated.statements }, on: connection)
        var restated: [ParkedOrderStore.Restated] = []
        var orders: [OrderRecorder.Recorded] = []
        for (stated, parked) in pairs {
            let transaction = stated.transaction(after: parked.transaction)
            let decision = stated.decision(transaction, catalogue: catalogue, owners: owners)
            guard decision.isNews(for: parked) || transaction != parked.transaction else { continue }
            orders.append(recorded(stated, transaction, decision))
            restated.append(
                ParkedOrderStore.Restated(
                    key: stated.key, transaction: transaction, decision: decision,
                    submissionId: stated.verdict.submissionId, correlationId: stated.verdict.correlationId))
        }
        let written = try await ParkedOrderStore.restate(restated, on: connection)
        orders = orders.filter { written.contains($0.key) }
        return (
            orders,
            orders.filter { order in orphans[order.key].map { order.decision.isNews(for: $0) } ?? false }
        )
    }

    private func owners(
        of transactions: [PurchasedTransaction], on connection: PostgresConnection
    ) async throws -> [AppToken: String] {
        let tokens = transactions.compactMap { transaction in
            transaction.appAccountToken.map { AppToken(app: transaction.bundleId, token: $0) }
        }
        return try await AccountTokenStore.accounts(
            of: Set(tokens).map { (app: $0.app, token: $0.token) }, on: connection)
    }

    private func recorded(
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

extension OrderDecision {
    /// Whether it is another than the one by which an order was parked.
    fileprivate func isNews(for parked: ParkedOrderStore.Parked) -> Bool {
        state != .parked || reason != parked.reason || account != parked.account
    }
}
