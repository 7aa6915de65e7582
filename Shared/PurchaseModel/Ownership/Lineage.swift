package import Foundation

/// Everything that has one original transaction id and is not used up, and whose it is: a subscription with all of its
/// periods, a non-consumable.
///
/// Apple changes original ids over the years: a lineage may have several, and its own one here.
package struct Lineage: Sendable, Hashable {
    package let key: LineageKey
    /// The app's bundle id.
    package let app: String
    /// Nil while it is unclaimed.
    package var owner: Account?
    /// How it came to its owner.
    package var cause: BindingChange.Cause?
    /// The appAccountToken of its newest purchase.
    package var token: UUID?
    /// When the transaction with that token was bought.
    package var tokenPurchaseDate: Date?
    /// When Apple signed the statement with that token.
    package var tokenSignedDate: Date?
    /// When it came to its owner, by our clock.
    package var boundDate: Date?
    /// When Apple signed what brought it to its owner.
    package var boundSignedDate: Date?
    /// Since when periods of it were paid anew after it had lapsed, and nobody claimed them; nil where none waits.
    package var openSince: Date?
    /// When the newest period was bought of which its owner showed evidence.
    package var claimedPurchaseDate: Date?
    /// When an account of it was forgotten: its tokens say nothing of purchases until then, and of their renewals.
    package var tokensVoidUntil: Date?
    /// The accounts that may use it beside its owner.
    package var sharers: Set<Account>
    /// The correlation id of what made it one with another in this transaction of the database; nil where nothing did.
    package var joinedBy: String?
    /// Whether its row was there before this transaction of the database.
    package let isStored: Bool

    package init(
        key: LineageKey, app: String, owner: Account? = nil, cause: BindingChange.Cause? = nil,
        sharers: Set<Account> = [], isStored: Bool = true
    ) {
        self.key = key
        self.app = app
        self.owner = owner
        self.cause = cause
        self.sharers = sharers
        self.isStored = isStored
    }
}

extension Lineage {
    /// Whether a transaction of it has a token of an account that was forgotten: then it goes where the lineage goes.
    ///
    /// A renewal has the token of the purchase that it renews, for years. What is bought anew names an account anew.
    package func voidsToken(of transaction: Transaction) -> Bool {
        guard let end = tokensVoidUntil, let named = transaction.appAccountToken, named != token else { return false }
        return transaction.purchaseDate <= end || transaction.transactionReason == "RENEWAL"
    }
}

extension Transaction {
    /// The same without its token, and without the text that Apple signed, which has it, too.
    package var withoutToken: Transaction {
        var bare = self
        bare.appAccountToken = nil
        bare.evidence = nil
        return bare
    }
}

/// What is known of a lineage beside its row, where that may decide whose it becomes.
package struct LineageHistory: Sendable, Hashable {
    /// The claims that were heard before, and not refused.
    package var appliedClaims: Set<LineageClaim.Identity> = []
    /// When a restore policy moved it.
    package var transfers: [Date] = []
    /// Whether an entitlement of its owner is in force.
    package var isInUse = false
    /// All of its orders, as they are stored.
    package var orders: [StoredOrder] = []

    package init() {}
}

/// That an account claims a lineage, by something that Apple signed.
package struct LineageClaim: Sendable, Hashable {
    /// What makes two claims one: a signed text can be spelled in many ways, so the submission does not.
    package struct Identity: Sendable, Hashable {
        package let account: Account
        package let transactionId: String
        /// When Apple signed it, in milliseconds since 1970, as exact as Apple signs.
        package let signedMilliseconds: Int64

        package init(account: Account, transactionId: String, signedDate: Date) {
            self.account = account
            self.transactionId = transactionId
            signedMilliseconds = signedDate.milliseconds
        }
    }

    package let lineage: LineageKey
    package let account: Account
    package let transactionId: String
    package let signedDate: Date
    package let submissionId: String
    /// Why the account got nothing; nil where it has, or had, the lineage.
    package let refused: ReasonCode?

    package var identity: Identity {
        Identity(account: account, transactionId: transactionId, signedDate: signedDate)
    }
}

extension Date {
    /// Since 1970; the database keeps instants to the microsecond, and Apple signs them to the millisecond.
    package var milliseconds: Int64 { Int64((timeIntervalSince1970 * 1_000).rounded()) }
}
