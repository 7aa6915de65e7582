import Messages
import PurchaseModel

/// The lineages that the verdicts of one commit claim, each for one account.
///
/// Who claims what another has just claimed is a restore: it is decided after the first has been granted, in a commit of its
/// own, so that it does not matter which verdicts came in one batch.
struct ClaimedLineages: Sendable {
    private var claimants: [LineageKey: String] = [:]

    /// Cuts a batch into commits, in its order; two accounts that claim the same lineage are never in one.
    static func cut(_ verdicts: [VerdictMessage], transactionsMaximum: Int) -> [[VerdictMessage]] {
        var parts: [[VerdictMessage]] = []
        var room = 0
        var claimed = ClaimedLineages()
        for verdict in verdicts {
            var count = 0
            if case .genuine(let transactions) = verdict.verdict { count = transactions.count }
            if !claimed.admit(verdict) || parts.isEmpty || count > room {
                parts.append([])
                room = transactionsMaximum
                claimed = ClaimedLineages(of: verdict)
            }
            parts[parts.count - 1].append(verdict)
            room -= count
        }
        return parts
    }

    init() {}

    /// Those of one verdict.
    init(of verdict: VerdictMessage) {
        _ = admit(verdict)
    }

    /// Adds what a verdict claims.
    ///
    /// - Returns: false where another account claims one of its lineages; then it belongs into the next commit.
    mutating func admit(_ verdict: VerdictMessage) -> Bool {
        guard let poster = verdict.poster, case .genuine(let transactions) = verdict.verdict else { return true }
        let claims = verdict.claims.map { Set($0) }
        let keys = transactions.flatMap { transaction -> [LineageKey] in
            guard let environment = transaction.environment, transaction.productType != .consumable,
                claims?.contains(transaction.transactionId) ?? true
            else { return [] }
            return [transaction.originalTransactionId, transaction.previousOriginalTransactionId].compactMap(\.self)
                .map { LineageKey(environment: environment, originalTransactionId: $0) }
        }
        guard keys.allSatisfy({ claimants[$0, default: poster].utf8.elementsEqual(poster.utf8) }) else { return false }
        for key in keys { claimants[key] = poster }
        return true
    }
}
