package import Foundation

/// What several statements about one transaction say together.
///
/// Joining is commutative, associative and idempotent, so that the result depends on the set of statements alone: not on
/// the order in which they come, nor on how often, nor on how they are cut into batches.
///
/// Each part (a token, an end of the period, a price, …) is what the statement says that counts most among those that
/// state it: a signed transaction before a receipt, then the newer `signedDate`; between two of one date the content
/// decides, by a fixed order. Signed statements of several product types are all
/// kept (``contradictingTypes``). A part that a statement leaves out is not denied by it,
/// but for one: what Apple's server tells always says whether it is revoked. There the newer counts, so a device or a receipt may
/// add a revocation, and only Apple's server ends one; of a device's word without it, see
/// ``countingWithoutRevocation(after:)``.
///
/// A statement whose signer has expired (``Transaction/hasExpiredSigner``) says nothing beside one that is vouched for, not even of
/// what that one leaves out.
extension Transaction {
    /// What the statements say together.
    ///
    /// - Parameter others: verified statements of the same transaction (environment, id and app), in any order.
    package func joined(with others: [Transaction]) -> Transaction {
        others.reduce(self) { $0.joined(with: $1) }
    }

    /// What two statements, or two joined ones, say together.
    package func joined(with other: Transaction) -> Transaction {
        guard self != other else { return self }
        if isVouchedFor != other.isVouchedFor { return isVouchedFor ? self : other }
        let isBehind = source.isLess(than: other.source)
        var result = isBehind ? other : self
        let rest = isBehind ? self : other
        let source = result.source
        var sources: [String: StatementSources.Source] = [:]
        for part in StatementPart.all {
            let chosen = part.choose(result, rest, base: source)
            if chosen.isOther { part.copy(rest, &result) }
            if let from = chosen.source, from != source { sources[part.name] = from }
        }
        let types = signedTypes.union(other.signedTypes)
        result.contradictingTypes = types.count > 1 ? types.sorted { $0.rawValue < $1.rawValue } : nil
        if let first = result.contradictingTypes?.first { result.productType = first }
        result.sources = nil
        if !sources.isEmpty || result.looksSigned != source.isSigned {
            result.sources = StatementSources(isSigned: source.isSigned, parts: sources)
        }
        return result
    }

    /// The statement that counts most of those that are joined here.
    var source: StatementSources.Source {
        StatementSources.Source(isSigned: sources?.isSigned ?? looksSigned, date: signedDate)
    }

    /// The types that signed statements say.
    private var signedTypes: Set<ProductType> {
        if let contradictingTypes { return Set(contradictingTypes) }
        return source.isSigned && productType != .unstated ? [productType] : []
    }

    /// The same, as the word of a receipt or of verifyReceipt, although it may state as much as a signed transaction.
    package var fromReceipt: Transaction {
        var statement = self
        statement.sources = looksSigned ? StatementSources(isSigned: false, parts: [:]) : nil
        return statement
    }

    /// Whether one statement is a signed transaction: those state product type, ownership and price, while a receipt
    /// states one of the three at the most; both together, what verifyReceipt says of a receipt, state two (``fromReceipt``).
    /// (Prices are missing in what Apple signed before 2023.)
    private var looksSigned: Bool {
        (productType == .unstated ? 0 : 1) + (ownership == nil ? 0 : 1) + (priceMilliunits == nil ? 0 : 1) >= 2
    }
}

/// Which parts of a joined transaction come from another statement than the one whose `signedDate` it has.
///
/// It is what makes joining independent of order: a part that an older statement told must not outrank a part of a
/// statement that comes later, and is newer than the one it came from. A transaction of one statement has none.
package struct StatementSources: Codable, Sendable, Hashable {
    /// Whether one of the statements was signed by itself, and not only told by a receipt.
    package var isSigned: Bool
    /// The parts of other statements, by name.
    package var parts: [String: Source]

    /// A statement, as far as it decides which one counts.
    package struct Source: Codable, Sendable, Hashable {
        /// Whether it was signed by itself.
        package var isSigned: Bool
        /// When Apple signed it.
        package var date: Date

        enum CodingKeys: String, CodingKey {
            case isSigned = "signed"
            case date
        }

        /// Whether a statement's word counts less than another's: a receipt's than a signed one's, an older than a newer.
        func isLess(than other: Source) -> Bool {
            isSigned == other.isSigned ? date < other.date : other.isSigned
        }
    }

    enum CodingKeys: String, CodingKey {
        case isSigned = "signed"
        case parts
    }
}

/// Who told what Apple signed of a transaction.
package enum Teller: String, Codable, Sendable, Hashable {
    /// Apple's server: a notification, or an answer of the App Store Server API.
    case server
    /// A device, or whoever posts for one: it may show what Apple signed before it told of a refund.
    case device
}

extension Transaction {
    /// The same, as Apple's server tells it: what it says of a revocation counts, also that there is none.
    package var fromServer: Transaction {
        // What is not signed by itself, as in a receipt, leaves out what it does not know.
        guard revocationDate != nil || source.isSigned else { return self }
        var statement = self
        statement.teller = .server
        return statement
    }

    /// The same of a device, where Apple cannot be asked: that there is no revocation counts against one that was told
    /// `delay` or longer before it was signed.
    ///
    /// Apple's servers agree only in time, so what is signed soon after a refund may not know of it.
    package func countingWithoutRevocation(after delay: TimeInterval) -> Transaction {
        guard teller != .server, revocationDate == nil, source.isSigned else { return self }
        var statement = self
        var sources = sources ?? StatementSources(isSigned: true, parts: [:])
        sources.parts[StatementPart.revocationName] = StatementSources.Source(
            isSigned: true, date: signedDate.addingTimeInterval(-delay))
        statement.sources = sources
        return statement
    }
}
