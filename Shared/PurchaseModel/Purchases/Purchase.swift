import Foundation

/// All that Apple signed about one purchase, under every transaction id that it gave it.
///
/// The statements of one id are joined (`Transaction.joined`), and so are the ids. The result depends on the set of
/// statements alone: not on their order, their number, or how they are cut into batches.
package struct Purchase: Sendable, Hashable {
    /// What is known of the transaction id under which it was recorded first: the order's own id.
    private var own: Transaction
    /// What is known of its other transaction ids.
    private var copies: [String: Transaction] = [:]

    /// A purchase of which one statement is known.
    package init(_ statement: Transaction) {
        own = statement
    }

    /// A purchase as it is stored.
    ///
    /// - Parameters:
    ///   - transaction: what is known of all of its ids together, under the order's own id.
    ///   - statements: what is known of each id; empty where it has one.
    package init(stored transaction: Transaction, statements: [String: Transaction]) {
        own = statements[transaction.transactionId] ?? transaction
        copies = statements
        copies[transaction.transactionId] = nil
    }

    /// The order's own id.
    package var id: String { own.transactionId }

    /// Whether Apple gave it more than one transaction id.
    package var hasSeveralIds: Bool { !copies.isEmpty }

    /// What is known of each of its ids.
    package var statements: [Transaction] { [own] + copies.values.sorted { $0.transactionId < $1.transactionId } }

    /// Adds a verified statement of the same purchase.
    package mutating func add(_ statement: Transaction) {
        let id = statement.transactionId
        if id == own.transactionId {
            own = own.joined(with: statement)
        } else {
            copies[id] = copies[id].map { $0.joined(with: statement) } ?? statement
        }
    }

    /// The same with further statements.
    package func adding(_ further: [Transaction]) -> Purchase {
        var purchase = self
        for statement in further { purchase.add(statement) }
        return purchase
    }

    /// What the statements say together, under the order's own id.
    ///
    /// A revocation of any id revokes the purchase. A copy under another id that does not tell of the revocation does not
    /// undo it; a newer statement of the same id by Apple's server, or a reversal (`REFUND_REVERSED`) of any id, does.
    package var transaction: Transaction {
        guard hasSeveralIds else { return own }
        var statements = statements
        // Copies whose signer has expired say nothing of a purchase that is vouched for.
        if statements.contains(where: \.isVouchedFor) { statements.removeAll { !$0.isVouchedFor } }
        // Sorted, since joining chooses by the id where all else is equal.
        let sorted = statements.sorted { $0.transactionId < $1.transactionId }
        var joined = sorted[0].withoutRevocation
        for statement in sorted.dropFirst() { joined = joined.joined(with: statement.withoutRevocation) }
        joined.transactionId = id
        // A restored copy may have the date of the restore; the purchase was before.
        joined.purchaseDate = sorted.map(\.purchaseDate).min() ?? joined.purchaseDate
        joined.originalPurchaseDate = sorted.compactMap(\.originalPurchaseDate).min()
        if let revoked = Self.revocationInForce(of: sorted) {
            joined.takeRevocation(of: revoked)
        } else {
            joined.takeDenial(of: sorted)
        }
        return joined
    }

    /// Whether a device shows no revocation in what was signed after the one that is in force was told: it is old data, or the
    /// first word of a reversal, and only Apple's server can say which.
    package func isRevocationDoubted(by statement: Transaction) -> Bool {
        let revoked = hasSeveralIds ? Self.revocationInForce(of: statements) : own
        guard let revoked, revoked.revocationDate != nil else { return false }
        return statement.teller != .server && statement.revocationDate == nil && statement.source.isSigned
            && statement.isVouchedFor && statement.signedDate > revoked.revocationSource.date
    }

    /// The statement whose revocation counts: of those that no reversal came after, the newest.
    private static func revocationInForce(of statements: [Transaction]) -> Transaction? {
        let reversed = statements.compactMap(\.refundReversedDate).max() ?? .distantPast
        return statements.filter { $0.revocationDate != nil && $0.revocationSource.date > reversed }
            .max { left, right in
                let (first, second) = (left.revocationSource.date, right.revocationSource.date)
                if first != second { return first < second }
                return (left.revocationDate ?? .distantPast, left.transactionId)
                    < (right.revocationDate ?? .distantPast, right.transactionId)
            }
    }
}

extension Transaction {
    /// The statement that told of the revocation, where one is stated.
    fileprivate var revocationSource: StatementSources.Source {
        sources?.parts[StatementPart.revocationName] ?? source
    }

    /// The same without a word of revocations.
    fileprivate var withoutRevocation: Transaction {
        var bare = self
        bare.revocationDate = nil
        bare.revocationReason = nil
        bare.revocationType = nil
        bare.revocationPercentage = nil
        bare.teller = nil
        bare.sources?.parts[StatementPart.revocationName] = nil
        bare.sources?.parts[StatementPart.revocationShareName] = nil
        return bare
    }

    /// Takes who said that there is no revocation: Apple's server, or a device whose word counts by its date.
    fileprivate mutating func takeDenial(of statements: [Transaction]) {
        if statements.contains(where: { $0.teller == .server }) {
            teller = .server
        } else if let said = statements.compactMap({ $0.sources?.parts[StatementPart.revocationName] })
            .max(by: { $0.date < $1.date })
        {
            var sources = sources ?? StatementSources(isSigned: source.isSigned, parts: [:])
            sources.parts[StatementPart.revocationName] = said
            self.sources = sources
        }
    }

    fileprivate mutating func takeRevocation(of other: Transaction) {
        revocationDate = other.revocationDate
        revocationReason = other.revocationReason
        revocationType = other.revocationType
        revocationPercentage = other.revocationPercentage
        teller = other.teller
    }

    /// The same as `REFUND_REVERSED` tells of it: what was refunded before is given back, under whichever of the
    /// purchase's ids it was refunded.
    package var reversingRefunds: Transaction {
        var statement = self
        if statement.revocationDate == nil { statement.refundReversedDate = signedDate }
        return statement
    }
}
