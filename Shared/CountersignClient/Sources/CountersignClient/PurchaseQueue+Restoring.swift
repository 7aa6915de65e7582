extension PurchaseQueue {
    /// The most transactions that one restore posts.
    private static let restoredMaximum = 1_000

    /// Has the store look for all that this Apple Account owns, and posts it for whoever pressed the button.
    ///
    /// Call it only when the person asks for it: the store may ask for a password.
    ///
    /// - Parameter asker: the account that the app showed when the button was pressed. Where another one has logged in since, or
    ///   does while the store asks for the password, nothing is posted.
    /// - Returns: what the server said of each transaction; an empty list when the store has none.
    /// - Throws: `PurchaseError`: `account_required`, `account_changed`, `storage_unavailable`, `restore_failed`; `CancellationError`
    ///   when the person cancels.
    public func restore(for asker: String) async throws -> RestoreResult {
        guard !isStopped, isStarted else { throw PurchaseError(.stopped, "the queue is not started, or was stopped") }
        guard machine.account != nil else { throw PurchaseError(.accountRequired, "nobody is logged in") }
        try requireAccount(asker)
        await openJournalAgain()
        guard !machine.isBlind else {
            throw PurchaseError(.storageUnavailable, journalError ?? "the journal cannot be read yet")
        }
        let given: [StoreTransaction]
        do {
            given = try await store.restore()
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            throw PurchaseError(.restoreFailed, String(String(describing: error).prefix(500)))
        }
        try requireAccount(asker)
        let transactions = Self.distinct(given)
        if transactions.count > Self.restoredMaximum {
            log(.warning, "of \(transactions.count) restored transactions the first \(Self.restoredMaximum) are posted")
        }
        let patience = configuration.limits.restorePatience
        let reports = await withTaskGroup(of: (Int, PurchaseReport).self) { group in
            for (index, transaction) in transactions.prefix(Self.restoredMaximum).enumerated() {
                group.addTask { (index, await self.restore(transaction, for: asker, patience: patience)) }
            }
            var reports: [(Int, PurchaseReport)] = []
            for await report in group { reports.append(report) }
            return reports.sorted { $0.0 < $1.0 }.map(\.1)
        }
        return RestoreResult(reports: reports)
    }

    private func requireAccount(_ asker: String) throws {
        guard machine.account == asker else {
            throw PurchaseError(.accountChanged, "another account has logged in since")
        }
    }

    private func restore(
        _ transaction: StoreTransaction, for asker: String, patience: Double
    ) async -> PurchaseReport {
        let report = await outcome(of: PurchaseKey(transaction), patience: patience) {
            $0.enqueue(.restored(transaction, asker: asker))
        }
        guard let report else {
            var unanswered = Self.unanswered(transaction, for: asker)
            unanswered.occasion = .restored
            return unanswered
        }
        return report
    }

    private static func distinct(_ transactions: [StoreTransaction]) -> [StoreTransaction] {
        var seen: Set<PurchaseKey> = []
        return transactions.filter { seen.insert(PurchaseKey($0)).inserted }
    }
}
