import HTTPTypes

/// A signed offer's nonce that a purchase used up.
struct OfferNonceRecord: Codable, Sendable, Identifiable {
    /// Bundle id and nonce, in lower case: `com.example.game/6f1e…`.
    let id: String
    /// When the signature ends, and the nonce may be forgotten: real milliseconds since 1970.
    let end: Int64
}

/// What the App Store looks at beside a signature.
extension StoreState {
    /// Refuses a signature that was used, or names another customer's transaction.
    ///
    /// A guest may name any transaction: nobody knows what guests had.
    ///
    /// - Throws: a ``Problem``, in StoreKit's word an invalid signature.
    func refuseRepetition(of admission: SignedOffer.Admission, by purchase: Purchase) throws(Problem) {
        guard offerNonces[admission.nonce.id] == nil else { throw SignedOffer.invalid("nonce was used already") }
        guard let customer = admission.customer, !Self.isGuest(purchase.accountId) else { return }
        let own = DownloadRecord.key(purchase.bundleId, purchase.accountId, purchase.environment)
        let owner = transactions[customer].map { DownloadRecord.key($0.bundleId, $0.accountId, $0.environment) }
        guard (owner ?? downloadKeys[customer]) == own else {
            throw SignedOffer.invalid("transactionId is another customer's")
        }
    }

    /// Uses a nonce up, and forgets those whose signatures are over.
    ///
    /// - Parameter now: real time, milliseconds since 1970.
    mutating func use(_ nonce: OfferNonceRecord, now: Int64) {
        // The signature of a server whose clock is ahead ends later than its nonce would be forgotten otherwise.
        let over = offerNonces.rows.values.filter { $0.end + SignedOffer.Limit.clockSkew < now }.map(\.id)
        for id in over { removeOfferNonce(id) }
        put(nonce)
    }
}
