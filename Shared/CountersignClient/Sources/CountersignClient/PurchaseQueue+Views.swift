#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Payment sheets that the queue does not open itself: StoreKit's own views do.
extension PurchaseQueue {
    /// Opens an intent for a sheet that is about to open and that nothing stops.
    ///
    /// Where the server gives no intent, the order has no token, and only this journal knows whose it is.
    ///
    /// - Returns: what the sheet has to be told.
    /// - Throws: `PurchaseError`: nobody knows whose it will be.
    package func beginView(
        _ productID: String, for buyer: String, reference: String? = nil
    ) async throws -> StoreOrder {
        let account = try await readiness(for: productID, 1, buyer, reference)
        var intent = PurchaseIntent(
            id: UUID(), account: account, productID: productID, isKnownToServer: false, reference: reference)
        switch await server.openIntent(account: account, productID: productID, reference: reference) {
        case .opened(let id):
            intent = PurchaseIntent(
                id: id, account: account, productID: productID, isKnownToServer: true, reference: reference)
        case .refused(let detail), .unavailable(let detail):
            log(.warning, "no intent, the view sells without a token: \(detail)")
        }
        if await !hand(.intentOpened(intent)) {
            // The sheet opens all the same: the token says whose it is, and in this launch the machine knows it.
            log(.error, "the intent of a view is not saved: \(journalError ?? "the queue was stopped")")
        }
        viewIntents[productID] = intent.id
        return StoreOrder(productID: productID, accountToken: intent.isKnownToServer ? intent.id : nil)
    }

    /// What came of a sheet that a view opened.
    ///
    /// - Throws: `PurchaseError`, as ``purchase(_:for:quantity:offer:reference:)`` does.
    package func endView(
        _ productID: String, _ sheet: () throws -> StorePurchaseOutcome
    ) async throws -> PurchaseResult {
        let outcome = Result { try sheet() }
        var id = viewIntents.removeValue(forKey: productID)
        if case .success(.purchased(let transaction)) = outcome, let token = transaction.accountToken { id = token }
        if let intent = id.flatMap({ machine.intents[$0] }) { return try await end(of: intent) { try outcome.get() } }
        // No intent of this journal: it goes the way of everything that comes by itself.
        switch try outcome.get() {
        case .cancelled: return .cancelled
        case .pending: return .pending
        case .purchased(let transaction):
            await hand(.seen(transaction, ordered: nil))
            return .processing(transactionID: transaction.id)
        }
    }
}
