extension StoreState {
    /// One customer of the app that calls.
    struct Customer: Sendable {
        let accountId: String
        let bundleId: String
        let environment: StoreEnvironment

        /// The key of this customer's transactions and download.
        var key: String { DownloadRecord.key(bundleId, accountId, environment) }
    }

    /// The customer that any id names: a transaction's, an original transaction's or an app transaction's.
    ///
    /// - Throws: 4000006, 4040010 (also for what belongs to another app or environment), 4040001 for a deleted account.
    func customer(
        ofAny id: String, app: AppRecord, environment: StoreEnvironment
    ) throws(APIError) -> Customer {
        try Self.checkTransactionId(id)
        let found: Customer
        if let row = transactions[id] ?? lineages[id]?.first.flatMap({ transactions[$0] }) {
            found = Customer(accountId: row.accountId, bundleId: row.bundleId, environment: row.environment)
        } else if let row = downloadKeys[id].flatMap({ downloads[$0] }) {
            found = Customer(accountId: row.accountId, bundleId: row.bundleId, environment: row.environment)
        } else {
            throw .transactionIdNotFound
        }
        guard found.bundleId == app.bundleId, found.environment == environment else { throw .transactionIdNotFound }
        guard accounts[found.accountId]?.isDeleted != true else { throw .accountNotFound }
        return found
    }

    /// The one transaction that an id names.
    ///
    /// - Throws: 4000006, 4000048 for an app transaction's id, 4040010.
    func transaction(
        _ id: String, app: AppRecord, environment: StoreEnvironment
    ) throws(APIError) -> TransactionRecord {
        try Self.checkTransactionId(id)
        guard let row = transactions[id] else {
            throw isAppTransaction(id, app: app, environment: environment)
                ? .appTransactionIdNotSupported : .transactionIdNotFound
        }
        guard row.bundleId == app.bundleId, row.environment == environment else { throw .transactionIdNotFound }
        return row
    }

    /// Whether an id is that of an app transaction of this app.
    func isAppTransaction(_ id: String, app: AppRecord, environment: StoreEnvironment) -> Bool {
        guard let row = downloadKeys[id].flatMap({ downloads[$0] }) else { return false }
        return row.bundleId == app.bundleId && row.environment == environment
    }

    /// Whether a text can be the id of a transaction: digits.
    static func isTransactionId(_ text: String) -> Bool {
        (1...TransactionIdLimit.digits).contains(text.utf8.count) && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
    }

    private static func checkTransactionId(_ text: String) throws(APIError) {
        guard isTransactionId(text) else { throw .invalidTransactionId }
    }

    private enum TransactionIdLimit {
        /// Digits of an id: what fits into 64 bits.
        static let digits = 20
    }
}
