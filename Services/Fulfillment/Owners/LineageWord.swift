import Foundation
import Messages
import Persistence
import PurchaseModel

/// What one verdict, or one operator, says of one lineage.
struct LineageWord: Sendable {
    /// Who says that the lineage is an account's, beside Apple's tokens.
    enum Claim: Sendable {
        /// The poster of a submission has the signed proof of some of its transactions.
        case possession(account: String, submissionId: String, of: [PurchasedTransaction])
        /// An operator says so; the number is that of `audit_log`.
        case `operator`(account: String, auditId: Int64)
    }

    /// What Apple signed of its transactions; never empty.
    var statements: [PurchasedTransaction]
    var claim: Claim?
    /// The submission that brought it; nil where none did just now.
    let submissionId: String?
    let correlationId: String

    /// The lineages of a batch, with what each verdict says of them, in the order the verdicts came.
    ///
    /// - Parameters:
    ///   - catalogue: knows the type of products where Apple's data does not say it.
    ///   - known: lineages that are there, of transactions of which neither says it.
    static func all(
        in stated: [StatedTransaction], catalogue: Catalogue, known: Set<LineageKey> = []
    ) -> [LineageKey: [LineageWord]] {
        var words: [LineageKey: [Int: LineageWord]] = [:]
        var bound = known
        for stated in stated where stated.transaction().hasLineage(by: catalogue) { bound.insert(stated.lineage) }
        for stated in stated where isOne(stated, of: bound, catalogue) {
            for (statement, source) in zip(stated.statements, stated.sources) {
                let verdict = source.verdict
                var word =
                    words[stated.lineage]?[source.place]
                    ?? LineageWord(
                        statements: [], submissionId: verdict.submissionId, correlationId: verdict.correlationId)
                word.statements.append(statement)
                if source.isClaimed, let poster = verdict.poster {
                    var claimed = [statement]
                    if case .possession(_, _, let others) = word.claim { claimed = others + claimed }
                    word.claim = .possession(account: poster, submissionId: verdict.submissionId, of: claimed)
                }
                words[stated.lineage, default: [:]][source.place] = word
            }
        }
        return words.mapValues { byPlace in byPlace.sorted { $0.key < $1.key }.map(\.value) }
    }

    private static func isOne(
        _ stated: StatedTransaction, of lineages: Set<LineageKey>, _ catalogue: Catalogue
    ) -> Bool {
        let transaction = stated.transaction()
        return transaction.hasLineage(by: catalogue)
            || transaction.isOfUnknownType(by: catalogue) && lineages.contains(stated.lineage)
    }

    /// The account that claims it.
    var claimant: String? {
        switch claim {
        case .possession(let account, _, _), .operator(let account, _): account
        case nil: nil
        }
    }
}

extension PurchasedTransaction {
    /// Whether it belongs to a lineage that has an owner: everything that is not used up.
    ///
    /// Where neither Apple nor the catalogue says what it is, it may be a consumable.
    func hasLineage(by catalogue: Catalogue) -> Bool {
        productType.hasLineage(
            orElse: productType == .unstated ? catalogue.product(app: bundleId, id: productId)?.type : nil)
    }

    /// Whether neither Apple nor the catalogue says what it is.
    func isOfUnknownType(by catalogue: Catalogue) -> Bool {
        productType == .unstated && catalogue.product(app: bundleId, id: productId) == nil
    }
}

extension ProductType {
    /// Whether transactions of this type belong to a lineage.
    ///
    /// - Parameter other: the catalogue's word, which counts where Apple says nothing.
    func hasLineage(orElse other: ProductType?) -> Bool {
        guard self == .unstated else { return self != .consumable }
        return other.map { $0 != .consumable } ?? false
    }
}
