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
    /// Whether a verdict claims it; what merely stands in somebody's receipt is not claimed.
    private(set) var isClaimed: Bool
    /// The first that claims it; the first that has it where nobody does.
    private(set) var verdict: VerdictMessage

    private init(
        key: OrderKey, _ transaction: PurchasedTransaction, in verdict: VerdictMessage, isClaimed: Bool
    ) {
        self.key = key
        statements = [transaction]
        self.isClaimed = isClaimed
        self.verdict = verdict
    }

    /// Each transaction of the verdicts once, in the order of their first appearance.
    ///
    /// Transactions without an environment are left out: there is no order of them.
    static func all(in verdicts: [VerdictMessage]) -> [StatedTransaction] {
        var places: [OrderKey: Int] = [:]
        var list: [StatedTransaction] = []
        for verdict in verdicts {
            guard case .genuine(let transactions) = verdict.verdict else { continue }
            let claims = verdict.claims.map { Set($0) }
            for stated in transactions {
                guard let environment = stated.environment else { continue }
                var transaction = stated
                // Production's purchases are paid for; a mark there is a mistake, and must not hold up a purchase.
                if environment != .sandbox { transaction.testPurchase = nil }
                let key = OrderKey(environment: environment, transactionId: transaction.transactionId)
                let isClaimed = claims?.contains(transaction.transactionId) ?? true
                if let place = places[key] {
                    list[place].add(transaction, in: verdict, isClaimed: isClaimed)
                } else {
                    places[key] = list.count
                    list.append(StatedTransaction(key: key, transaction, in: verdict, isClaimed: isClaimed))
                }
            }
        }
        return list
    }

    private mutating func add(_ transaction: PurchasedTransaction, in verdict: VerdictMessage, isClaimed: Bool) {
        // Apple's ids are not shared by apps; whatever says otherwise says nothing about this one.
        guard transaction.bundleId == statements[0].bundleId else { return }
        statements.append(transaction)
        guard isClaimed, !self.isClaimed else { return }
        self.isClaimed = true
        self.verdict = verdict
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
    ///   - owners: whose the registered tokens are.
    func decision(
        _ transaction: PurchasedTransaction, catalogue: Catalogue, owners: [AppToken: String]
    ) -> OrderDecision {
        OrderDecision.decide(
            transaction, poster: verdict.poster,
            isClaimed: isClaimed && transaction.bundleId == statements[0].bundleId,
            tokenOwner: TokenOwner(transaction, owners: owners),
            product: catalogue.product(app: transaction.bundleId, id: transaction.productId),
            catalogueVersion: catalogue.version)
    }
}

extension TokenOwner {
    /// Whose a transaction is by its token, from the tokens that are registered.
    init(_ transaction: PurchasedTransaction, owners: [AppToken: String]) {
        guard let token = transaction.appAccountToken else {
            self = .noToken
            return
        }
        if let account = owners[AppToken(app: transaction.bundleId, token: token)] {
            self = .account(account)
        } else {
            self = .unknown
        }
    }
}
