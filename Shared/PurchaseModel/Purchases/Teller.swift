package import Foundation

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
