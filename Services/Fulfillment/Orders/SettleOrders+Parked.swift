import Messages
import Persistence
import Postgres
import PurchaseModel

/// Orders that were nobody's until now.
extension SettleOrders {
    /// What became of them.
    struct DecidedAnew: Sendable {
        /// All that were written.
        var orders: [OrderRecorder.Recorded] = []
        /// Those of them that were not only stated better.
        var changed: [OrderRecorder.Recorded] = []

        var written: Set<OrderKey> { Set(orders.map(\.key)) }
    }

    /// Decides anew what was recorded while it was nobody's: what the batch says more of, and what waited for its lineage
    /// to have an owner.
    ///
    /// - Parameter held: locked orders that were there before the batch, of any state.
    /// - Throws: `PostgresError`.
    func decideAnew(
        _ held: [ParkedOrderStore.Held], in batch: Batch, on connection: PostgresConnection
    ) async throws -> DecidedAnew {
        let orphans = held.filter(\.isNobodys)
        guard !orphans.isEmpty else { return DecidedAnew() }
        let stated = Dictionary(batch.stated.map { ($0.key, $0) }) { first, _ in first }
        let stored = try await tokens(
            of: orphans.compactMap { stated[$0.key] == nil ? nil : $0.transaction }, on: connection
        ).merging(batch.tokens) { $1 }
        var decided = DecidedAnew()
        var restated: [ParkedOrderStore.Restated] = []
        var released: [OrderRecorder.Recorded] = []
        for order in orphans {
            guard let before = order.transaction else { continue }
            guard let stated = stated[order.key] else {
                let recorded = release(order, before, in: batch)
                if recorded.decision.isNews(for: order) { released.append(recorded) }
                continue
            }
            let transaction = stated.transaction(after: before)
            // A lineage hears of a token that was registered since when the order is taken up for it.
            let hasLineage = batch.book.lineage(of: transaction, in: order.key.environment) != nil
            let decision = stated.decision(
                transaction, in: batch.book, tokens: hasLineage ? batch.tokens : stored, by: batch.catalogue)
            guard decision.isNews(for: order) || transaction != before else { continue }
            let recorded = recorded(stated, transaction, decision)
            decided.orders.append(recorded)
            if decision.isNews(for: order) { decided.changed.append(recorded) }
            restated.append(
                ParkedOrderStore.Restated(
                    key: order.key, transaction: transaction, decision: decision,
                    submissionId: stated.verdict.submissionId, correlationId: stated.verdict.correlationId))
        }
        let written = try await ParkedOrderStore.restate(restated, on: connection)
            .union(ParkedOrderStore.resolve(released.map { ($0.key, $0.decision) }, on: connection))
        decided.orders = (decided.orders + released).filter { written.contains($0.key) }
        decided.changed = (decided.changed + released).filter { written.contains($0.key) }
        return decided
    }

    private func release(
        _ order: ParkedOrderStore.Held, _ transaction: PurchasedTransaction, in batch: Batch
    ) -> OrderRecorder.Recorded {
        OrderRecorder.Recorded(
            key: order.key, transaction: transaction,
            decision: batch.book.decision(
                transaction, in: order.key.environment, possessor: nil, tokens: batch.tokens, by: batch.catalogue),
            correlationId: order.correlationId)
    }
}

extension OrderDecision {
    /// Whether it is another than the one by which an order is parked.
    func isNews(for order: ParkedOrderStore.Held) -> Bool {
        state != .parked || reason != order.standing.reason || !account.isSameAccount(as: order.standing.account)
    }
}
