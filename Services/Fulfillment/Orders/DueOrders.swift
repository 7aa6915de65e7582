import Messages
import Persistence
import PurchaseModel

/// Parked orders whose doubt may be over, locked, with what is known of their owners: pure functions of that.
struct DueOrders: Sendable {
    /// The orders that were looked for.
    let candidates: Set<OrderKey>
    let claims: [OperatorClaimStore.Due]
    /// The candidates that are still parked, and all orders of their lineages.
    let held: [ParkedOrderStore.Held]
    /// Whose the registered tokens are.
    let tokens: [AppToken: String]
    var book: OwnerBook

    private var claimed: [OrderKey: OperatorClaimStore.Due] {
        Dictionary(claims.map { ($0.key, $0) }) { first, _ in first }
    }

    private var parked: [(order: ParkedOrderStore.Held, transaction: PurchasedTransaction)] {
        held.compactMap { order in
            guard order.standing.state == .parked, let transaction = order.transaction else { return nil }
            return (order, transaction)
        }
    }

    /// How many were looked at.
    var count: Int { held.count { candidates.contains($0.key) && $0.standing.state == .parked } }

    /// The claims that are done with: their orders were locked, or are not to be claimed any more.
    ///
    /// An order that somebody else holds locked is looked for again.
    var settledClaims: [Int64] {
        let held = Set(held.map(\.key))
        return claims.filter { !candidates.contains($0.key) || held.contains($0.key) }.map(\.auditId)
    }

    /// What the candidates and the operators say of the lineages.
    var words: [LineageKey: [LineageWord]] {
        let claimed = claimed
        var words: [LineageKey: [LineageWord]] = [:]
        for (order, transaction) in parked where candidates.contains(order.key) {
            guard let owner = book.lineage(of: transaction, in: order.key.environment) else { continue }
            var word = LineageWord(
                statements: [transaction], submissionId: nil, correlationId: order.correlationId)
            if let claim = claimed[order.key], order.isNobodys {
                word.claim = .operator(account: claim.account, auditId: claim.auditId)
            } else if let account = order.standing.account, owner.lineage.account == nil {
                // It was claimed while nobody knew that its product has a lineage.
                word.claim = .possession(account: account, submissionId: order.submissionId, of: [transaction])
            }
            words[order.lineage, default: []].append(word)
        }
        return words
    }

    /// What operators said of orders without a lineage, such as consumables; the order's own id stands for it.
    var claimsWithoutLineage: [BindingHistoryStore.Binding] {
        let claimed = claimed
        return parked.compactMap { order, transaction in
            guard let claim = claimed[order.key], order.isNobodys,
                book.lineage(of: transaction, in: order.key.environment) == nil
            else { return nil }
            return BindingHistoryStore.Binding(
                lineage: LineageKey(
                    environment: order.key.environment, originalTransactionId: order.key.transactionId),
                app: transaction.bundleId,
                change: BindingChange(from: nil, to: claim.account, cause: .operator), submissionId: nil,
                auditId: claim.auditId)
        }
    }

    /// What becomes of the candidates, and of the orders that waited for their lineage to have an owner.
    func decided(by catalogue: Catalogue) -> [OrderRecorder.Recorded] {
        let claimed = claimed
        return parked.compactMap { order, transaction -> OrderRecorder.Recorded? in
            let isCandidate = candidates.contains(order.key)
            guard isCandidate || order.isNobodys else { return nil }
            let claim = order.isNobodys ? claimed[order.key] : nil
            let decision =
                claim.map { self.decision(transaction, of: order, claimedFor: $0.account, by: catalogue) }
                ?? book.decision(
                    transaction, in: order.key.environment,
                    holder: order.standing.account.map {
                        OrderHolder(account: $0, token: transaction.appAccountToken)
                    }, possessor: nil, tokens: tokens, by: catalogue)
            // What is decided as it was is not told again, at every look.
            guard decision.isNews(for: order) else { return nil }
            return OrderRecorder.Recorded(
                key: order.key, transaction: transaction, decision: decision, correlationId: order.correlationId)
        }
    }

    /// An operator's word goes before a token of nobody.
    private func decision(
        _ transaction: PurchasedTransaction, of order: ParkedOrderStore.Held, claimedFor account: String,
        by catalogue: Catalogue
    ) -> OrderDecision {
        let lineage = book.lineage(of: transaction, in: order.key.environment)?.lineage
        return OrderDecision.decide(
            transaction, owner: .account(lineage?.account ?? account), sharers: lineage?.sharers ?? [],
            product: catalogue.product(app: transaction.bundleId, id: transaction.productId),
            catalogueVersion: catalogue.version)
    }
}
