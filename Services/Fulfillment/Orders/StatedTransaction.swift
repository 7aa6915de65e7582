import Messages
import Persistence
import PurchaseModel

/// What the verdicts of one batch say about one transaction: the statements, and whose it is by possession.
struct StatedTransaction: Sendable {
    let key: OrderKey
    /// The lineage that it belongs to.
    var lineage: LineageKey {
        LineageKey(environment: key.environment, originalTransactionId: statements[0].originalTransactionId)
    }
    /// Of the same app, in the order they came.
    private(set) var statements: [PurchasedTransaction]
    /// Where each of the statements stands.
    private(set) var sources: [Source]
    /// Whether a verdict claims it; what merely stands in somebody's receipt is not claimed.
    private(set) var isClaimed: Bool
    /// The first that claims it; the first that has it where nobody does.
    private(set) var verdict: VerdictMessage

    /// A verdict that has a statement.
    struct Source: Sendable {
        let verdict: VerdictMessage
        /// Its place in the batch.
        let place: Int
        let isClaimed: Bool
    }

    private init(key: OrderKey, _ transaction: PurchasedTransaction, in source: Source) {
        self.key = key
        statements = [transaction]
        sources = [source]
        isClaimed = source.isClaimed
        verdict = source.verdict
    }

    /// Each transaction of the verdicts once, in the order of their first appearance.
    ///
    /// Transactions without an environment are left out: there is no order of them.
    static func all(in verdicts: [VerdictMessage]) -> [StatedTransaction] {
        var places: [OrderKey: Int] = [:]
        var list: [StatedTransaction] = []
        for (place, verdict) in verdicts.enumerated() {
            guard case .genuine(let transactions) = verdict.verdict else { continue }
            let claims = verdict.claims.map { Set($0) }
            for stated in transactions {
                guard let environment = stated.environment else { continue }
                var transaction = stated
                // Production's purchases are paid for; a mark there is a mistake, and must not hold up a purchase.
                if environment != .sandbox { transaction.testPurchase = nil }
                let key = OrderKey(environment: environment, transactionId: transaction.transactionId)
                // Apple claims nothing for anybody: a notification only records.
                let isClaimed = verdict.poster != nil && claims?.contains(transaction.transactionId) ?? true
                let source = Source(verdict: verdict, place: place, isClaimed: isClaimed)
                if let known = places[key] {
                    list[known].add(transaction, in: source)
                } else {
                    places[key] = list.count
                    list.append(StatedTransaction(key: key, transaction, in: source))
                }
            }
        }
        return list
    }

    private mutating func add(_ transaction: PurchasedTransaction, in source: Source) {
        // Apple's ids are not shared by apps; whatever says otherwise says nothing about this one.
        guard transaction.bundleId == statements[0].bundleId else { return }
        statements.append(transaction)
        sources.append(source)
        guard source.isClaimed, !isClaimed else { return }
        isClaimed = true
        verdict = source.verdict
    }

    /// The transaction as it is known with what was known before.
    func transaction(after known: PurchasedTransaction? = nil) -> PurchasedTransaction {
        guard let known else { return statements[0].joined(with: Array(statements.dropFirst())) }
        return known.joined(with: statements.filter { $0.bundleId == known.bundleId })
    }

    /// What becomes of the transaction.
    ///
    /// - Parameters:
    ///   - transaction: as it is known.
    ///   - holder: whose the order is already; nil where it is nobody's.
    ///   - book: whose the lineages are.
    ///   - tokens: whose the registered tokens are.
    func decision(
        _ transaction: PurchasedTransaction, holder: OrderHolder? = nil, in book: OwnerBook,
        tokens: [AppToken: String], by catalogue: Catalogue
    ) -> OrderDecision {
        let isPosters = isClaimed && transaction.bundleId == statements[0].bundleId
        return book.decision(
            transaction, in: key.environment, holder: holder, possessor: isPosters ? verdict.poster : nil,
            tokens: tokens, by: catalogue)
    }
}
