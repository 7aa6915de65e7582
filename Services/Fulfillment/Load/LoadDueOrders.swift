import Foundation
import Persistence
import Postgres
import PurchaseModel

/// Reads and locks all that decides about parked orders whose doubt may be over.
struct LoadDueOrders: Sendable {
    let now: @Sendable () -> Date

    /// Locks the lineages of the candidates with all their orders, and the candidates that have none.
    ///
    /// - Throws: `PostgresError`.
    func load(
        _ candidates: [OrderStore.Candidate], _ claims: [OperatorClaimStore.Due], by catalogue: Catalogue,
        on connection: PostgresConnection
    ) async throws -> Loaded {
        var loaded = Loaded(catalogue: catalogue, now: now())
        let candidates = try await underTheirLineage(candidates, on: connection)
        loaded.cutOvers = try await CutOverStore.all(on: connection)
        loaded.candidates = Set(candidates.map(\.key))
        loaded.operatorClaims = Dictionary(claims.map { ($0.key, $0) }) { first, _ in first }
        let known = try await LineageStore.known(
            Set(candidates.filter { $0.productType == .unstated }.map(\.lineage)), on: connection)
        let bound = candidates.filter { candidate in
            let product = catalogue.product(app: candidate.app, id: candidate.productId)
            return candidate.productType.hasLineage(orElse: product?.type)
                || product == nil && known.contains(candidate.lineage)
        }
        loaded.lineages = try await LineageStore.lock(
            Dictionary(bound.map { ($0.lineage, $0.app) }) { first, _ in first }, on: connection)
        let hanging = Set(bound.map(\.key))
        var orders = try await OrderStore.lock([], lineages: Array(loaded.lineages.keys), on: connection)
        orders += try await OrderStore.lockFree(
            candidates.map(\.key).filter { !hanging.contains($0) }, on: connection)
        loaded.orders = Dictionary(orders.map { ($0.key, $0) }) { first, _ in first }
        loaded.tokens = try await AccountTokenStore.accounts(
            of: Set(orders.compactMap { $0.purchase?.transaction.appToken }), on: connection)
        try await compareKeys(&loaded, on: connection)
        loaded.evidence = evidence(loaded)
        loaded.histories = try await LoadBatch.histories(
            of: Array(loaded.lineages.keys), evidence: loaded.evidence, orders: orders, now: loaded.now,
            on: connection)
        return loaded
    }

    /// The candidates under the own original ids of their lineages: an order whose type nobody knew was written without a
    /// lineage's lock, and may have come while its lineage became another.
    private func underTheirLineage(
        _ candidates: [OrderStore.Candidate], on connection: PostgresConnection
    ) async throws -> [OrderStore.Candidate] {
        var members = try await LineageStore.members(among: Set(candidates.map(\.lineage)), on: connection)
        // Apple's ids are not shared by apps: another app's member says nothing of a candidate.
        let own = Set(candidates.filter { members[$0.lineage]?.app == $0.app }.map(\.lineage))
        members = members.filter { own.contains($0.key) }
        guard !members.isEmpty else { return candidates }
        let apps = members.flatMap { [($0.key, $0.value.app), ($0.value.lineage, $0.value.app)] }
        let lineages = try await LineageStore.lock(
            Dictionary(apps) { first, _ in first }, isJoining: true, on: connection)
        members = members.filter { lineages[$0.key]?.app == $0.value.app }
        for (key, member) in members.sorted(by: { $0.key < $1.key }) {
            try await LineageStore.join(
                LineageStore.Join(
                    into: member.lineage, from: key, app: member.app, cause: .transaction, transactionId: "",
                    submissionId: "", loser: nil, owner: lineages[member.lineage]?.owner), on: connection)
        }
        return candidates.map { candidate in
            guard let member = members[candidate.lineage], member.app == candidate.app else { return candidate }
            return candidate.under(member.lineage)
        }
    }

    /// What was of an unknown type has no keys, and gets some: they may be another order's by now, or another candidate's.
    ///
    /// What has keys was compared when it came. Where its own key leads to it, the second of its purchase says nothing beside that:
    /// Apple may state another's by now.
    private func compareKeys(_ loaded: inout Loaded, on connection: PostgresConnection) async throws {
        let orders = loaded.orders.values.filter { order in
            loaded.candidates.contains(order.key)
                && (order.reason == .vocabularyUnknown || order.reason == .accountTokenUnknown)
        }.sorted { $0.key < $1.key }
        let statements = orders.compactMap { order in order.purchase.map { (order: order, transaction: $0.transaction) }
        }
        guard !statements.isEmpty else { return }
        let matches = try await OrderStore.matches(
            of: statements.map { ($0.order.key.environment, $0.transaction) },
            try TransactionBodies(of: statements.map(\.transaction)), on: connection)
        var taken: [String: OrderKey] = [:]
        for (place, statement) in statements.enumerated() {
            let key = statement.order.key
            let found = matches.filter { $0.place == place && [.key, .fallback].contains($0.path) }
            guard !found.contains(where: { $0.path == .key && $0.order.key == key }) else { continue }
            var others = found.map(\.order.key).filter { $0 != key }
            if others.count == found.count {
                let keys = PurchaseKeys(of: statement.transaction)
                others += [keys.key, keys.fallback].compactMap(\.self).compactMap { purchaseKey in
                    let name = "\(key.environment) \(statement.order.app) \(purchaseKey.text)"
                    defer { taken[name] = taken[name] ?? key }
                    return taken[name]
                }
            }
            guard let other = others.min() else { continue }
            loaded.contradicted[key] = .twoOrders
            loaded.conflicts.append(
                OrderStore.NotedConflict(
                    environment: key.environment, transactionId: key.transactionId, app: statement.order.app,
                    orderId: other.transactionId, cause: .twoOrders, submissionId: statement.order.submissionId))
        }
    }

    /// What the candidates and the operators bring about the lineages.
    private func evidence(_ loaded: Loaded) -> [LineageKey: [LineageEvidence]] {
        var evidence: [LineageKey: [LineageEvidence]] = [:]
        for order in loaded.orders.values.sorted(by: { $0.key < $1.key })
        where loaded.candidates.contains(order.key) && order.productType != .consumable {
            guard order.state == .parked || order.isNobodysRefund else { continue }
            guard let transaction = order.purchase?.transaction, let lineage = loaded.lineages[order.lineage],
                lineage.app == order.app
            else { continue }
            let claim = order.isUnclaimed ? loaded.operatorClaims[order.key] : nil
            guard transaction.environment != nil && transaction.isVouchedFor || claim != nil else { continue }
            var reason = claim.map { Evidence.operator($0.account, auditId: $0.auditId) }
            var submissionId: String?
            if reason == nil, let account = order.account, lineage.owner == nil {
                // It was claimed while nobody knew that its product has a lineage.
                reason = .possession(account)
                submissionId = order.submissionId
            }
            evidence[order.lineage, default: []].append(
                LineageEvidence(
                    statements: [
                        LineageEvidence.Statement(transaction: transaction, order: order, isClaimed: reason != nil)
                    ],
                    evidence: reason, submissionId: submissionId, correlationId: order.correlationId))
        }
        return evidence
    }
}
