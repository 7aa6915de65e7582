#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension PurchaseQueue {
    /// Buys a product for whoever pressed the button.
    ///
    /// It asks the server for an intent, saves it, opens the payment sheet, and waits for the outcome for as long as
    /// `outcomePatience` says. The transaction is the account's even when another one logs in meanwhile.
    ///
    /// - Parameter buyer: the account that the app showed when the button was pressed. Where another one has logged in since, or
    ///   nobody is, nothing is bought: a log-in may reach the queue before the purchase that was begun ahead of it.
    /// - Parameter reference: your own number of the order, which comes back in the server's events and answers; of 1 to 255
    ///   characters, none of them a control character. Apple never sees it. The server has it with the intent: of a purchase
    ///   without one (`QueueConfiguration.intents`) this device alone knows it.
    /// - Throws: `PurchaseError`; its `isNothingPaid` says whether the person can have been charged.
    public func purchase(
        _ productID: String, for buyer: String, quantity: Int = 1, offer: SubscriptionOffer? = nil,
        reference: String? = nil
    ) async throws -> PurchaseResult {
        let account = try await readiness(for: productID, quantity, buyer, reference)
        let intent = try await openIntent(account: account, productID: productID, reference: reference)
        let token = intent.isKnownToServer ? intent.id : nil
        let signed = try await signedOffer(offer, account: account, productID: productID, token: token)
        guard await hand(.intentOpened(intent)) else {
            enqueue(.intentDropped(intent.id))
            if isStopped { throw PurchaseError(.stopped, "the queue was stopped") }
            throw PurchaseError(.storageUnavailable, journalError ?? "the journal cannot be written")
        }
        let order = StoreOrder(productID: productID, quantity: quantity, accountToken: token, offer: signed)
        log(.info, "the payment sheet opens for \(productID)")
        return try await end(of: intent) { try await store.purchase(order) }
    }

    /// What came of an intent's payment sheet.
    ///
    /// - Parameter sheet: ends as the sheet does.
    func end(
        of intent: PurchaseIntent, _ sheet: () async throws -> StorePurchaseOutcome
    ) async throws -> PurchaseResult {
        openCalls.insert(intent.id)
        var result: PurchaseResult?
        defer { endCall(intent.id, returning: result) }
        let outcome: StorePurchaseOutcome
        do {
            outcome = try await sheet()
        } catch let error as PurchaseError where error.isNothingPaid {
            await hand(.intentEnded(intent.id, .cancelled))
            throw error
        } catch {
            // It may be paid all the same: the intent stays open.
            throw PurchaseError(.storeFailed, String(String(describing: error).prefix(500)))
        }
        let ended: PurchaseResult
        switch outcome {
        case .cancelled:
            await hand(.intentEnded(intent.id, .cancelled))
            ended = .cancelled
        case .pending:
            await hand(.intentEnded(intent.id, .pending))
            ended = .pending
        case .purchased(let transaction): ended = await bought(transaction, with: intent)
        }
        result = ended
        return ended
    }

    func readiness(
        for productID: String, _ quantity: Int, _ buyer: String, _ reference: String?
    ) async throws -> String {
        guard !isStopped, isStarted else { throw PurchaseError(.stopped, "the queue is not started, or was stopped") }
        guard let account = machine.account else { throw PurchaseError(.accountRequired, "nobody is logged in") }
        guard buyer == account else { throw PurchaseError(.accountChanged, "another account has logged in since") }
        let lengths = 1...QueueLimits.nameLengthMaximum
        guard lengths.contains(productID.count), lengths.contains(account.count),
            (1...QueueLimits.quantityMaximum).contains(quantity)
        else { throw PurchaseError(.orderInvalid, "product id, account or quantity is out of range") }
        if let reference, !Self.isReference(reference) {
            throw PurchaseError(.orderInvalid, "the reference is out of range, or has control characters")
        }
        guard await store.canMakePayments() else {
            throw PurchaseError(.paymentsNotAllowed, "the store says that this person cannot pay")
        }
        guard machine.purchases.count < configuration.limits.purchasesMaximum else {
            throw PurchaseError(.queueFull, "\(machine.purchases.count) purchases wait")
        }
        await openJournalAgain()
        guard journal != nil else {
            throw PurchaseError(.storageUnavailable, journalError ?? "there is no journal")
        }
        return account
    }

    /// Whether the server takes it as the number of an order: the same rule as there.
    static func isReference(_ text: String) -> Bool {
        let scalars = text.unicodeScalars
        return (1...QueueLimits.nameLengthMaximum).contains(scalars.count)
            && scalars.allSatisfy { scalar in
                switch scalar.properties.generalCategory {
                case .control, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned: false
                default: true
                }
            }
    }

    private func openIntent(
        account: String, productID: String, reference: String?
    ) async throws -> PurchaseIntent {
        let reason: String
        switch await server.openIntent(account: account, productID: productID, reference: reference) {
        case .opened(let id):
            return PurchaseIntent(
                id: id, account: account, productID: productID, isKnownToServer: true, reference: reference)
        case .refused(let detail): throw PurchaseError(.serverRefused, detail)
        case .unavailable(let detail): reason = detail
        }
        guard configuration.intents == .preferred else { throw PurchaseError(.serverUnavailable, reason) }
        log(.warning, "no intent, bought without a token: \(reason)")
        return PurchaseIntent(
            id: UUID(), account: account, productID: productID, isKnownToServer: false, reference: reference)
    }

    /// The offer, signed for the intent: Apple takes a signature for no other token.
    private func signedOffer(
        _ offer: SubscriptionOffer?, account: String, productID: String, token: UUID?
    ) async throws -> SignedOffer? {
        guard let offer else { return nil }
        return try await server.signedOffer(offer, account: account, productID: productID, token: token)
    }

    private func bought(_ transaction: StoreTransaction, with intent: PurchaseIntent) async -> PurchaseResult {
        guard machine.isBought(transaction, with: intent.id) else {
            // An earlier purchase of the same product: it goes its own way, and the order came to nothing.
            log(.warning, "the store gave an earlier purchase", transactionID: transaction.id)
            enqueue(.intentEnded(intent.id, .cancelled))
            let report = await outcome(of: PurchaseKey(transaction), patience: configuration.outcomePatience) {
                $0.enqueue(.givenAgain(transaction, asker: intent.account))
            }
            return .earlierPurchase(report ?? Self.unanswered(transaction, for: intent.account))
        }
        // The store's updates may have brought it before, and the server may have answered already.
        if let report = finalReports[transaction.id] { return .settled(report) }
        let report = await outcome(of: PurchaseKey(transaction), patience: configuration.outcomePatience) {
            $0.enqueue(.seen(transaction, ordered: intent.id))
        }
        guard let report else { return .processing(transactionID: transaction.id) }
        if case .processing = report.outcome { return .processing(transactionID: transaction.id) }
        return .settled(report)
    }

    /// What is said of a transaction that the server did not answer about in time.
    static func unanswered(_ transaction: StoreTransaction, for account: String) -> PurchaseReport {
        PurchaseReport(
            transactionID: transaction.id, productID: transaction.productID, account: account,
            outcome: .processing(.server), isFinished: false)
    }

    /// Waits for the outcome of a transaction; nil when it does not come in time.
    ///
    /// - Parameter begin: what leads to it; run when nothing can be missed any more.
    func outcome(
        of key: PurchaseKey, patience: Double, _ begin: (isolated PurchaseQueue) -> Void
    ) async -> PurchaseReport? {
        guard !isStopped else { return nil }
        let number = nextNumber()
        let timer = run(isBusy: false) { queue in
            // Cut short by the end of the queue as well, which answers everybody.
            guard (try? await queue.time.sleep(seconds: patience)) != nil else { return }
            await queue.giveUp(number, key)
        }
        let report = await withCheckedContinuation { continuation in
            outcomeWaiters[key, default: [:]][number] = continuation
            begin(self)
        }
        tasks[timer]?.cancel()
        return report
    }

    private func giveUp(_ number: Int, _ key: PurchaseKey) {
        outcomeWaiters[key]?.removeValue(forKey: number)?.resume(returning: nil)
        if outcomeWaiters[key]?.isEmpty == true { outcomeWaiters[key] = nil }
    }
}
