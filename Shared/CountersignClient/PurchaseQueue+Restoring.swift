extension PurchaseQueue {
    /// The most transactions that one restore posts.
    private static let restoredMaximum = 1_000

    /// Has the store look for all that this Apple Account owns, and posts it for the account that is logged in.
    ///
    /// Call it only when the person asks for it: the store may ask for a password.
    ///
    /// - Returns: what the server said of each transaction; an empty list when the store has none.
    /// - Throws: `PurchaseError`: `account_required`, `store_failed`.
    public func restore() async throws -> RestoreResult {
        guard !isStopped, isStarted else { throw PurchaseError(.stopped, "the queue is not started, or was stopped") }
        guard machine.account != nil else { throw PurchaseError(.accountRequired, "nobody is logged in") }
        let given: [StoreTransaction]
        do {
            given = try await store.restore()
        } catch {
            throw PurchaseError(.storeFailed, String(String(describing: error).prefix(500)))
        }
        let transactions = Self.distinct(given)
        if transactions.count > Self.restoredMaximum {
            log(.warning, "of \(transactions.count) restored transactions the first \(Self.restoredMaximum) are posted")
        }
        let patience = configuration.limits.restorePatience
        let reports = await withTaskGroup(of: (Int, PurchaseReport).self) { group in
            for (index, transaction) in transactions.prefix(Self.restoredMaximum).enumerated() {
                group.addTask { (index, await self.restore(transaction, patience: patience)) }
            }
            var reports: [(Int, PurchaseReport)] = []
            for await report in group { reports.append(report) }
            return reports.sorted { $0.0 < $1.0 }.map(\.1)
        }
        return RestoreResult(reports: reports)
    }

    private func restore(_ transaction: StoreTransaction, patience: Double) async -> PurchaseReport {
        let report = await outcome(of: PurchaseKey(transaction), patience: patience) {
            $0.enqueue(.restored(transaction))
        }
        return report
            ?? PurchaseReport(
                transactionID: transaction.id, productID: transaction.productID, account: machine.account,
                outcome: .processing(.server), isFinished: false)
    }

    private static func distinct(_ transactions: [StoreTransaction]) -> [StoreTransaction] {
        var seen: Set<PurchaseKey> = []
        return transactions.filter { seen.insert(PurchaseKey($0)).inserted }
    }
}
