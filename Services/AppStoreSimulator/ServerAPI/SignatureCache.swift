/// Signs transactions, and signs one that did not change only once in a while.
///
/// Apple signs at every answer; a client cannot tell that from a signature that is some seconds old.
struct SignatureCache: Sendable {
    enum Limit {
        /// Signed transactions that are kept, of about 4 KB each.
        static let entries = 8_192
        /// The age up to which a signature is given out again: virtual milliseconds.
        static let age: Int64 = 60_000
    }

    private struct Key: Hashable, Sendable {
        let transactionId: String
        let revision: Int64
    }

    private struct Entry: Sendable {
        let signedDate: Int64
        let text: String
    }

    private let signer: PayloadSigner
    private let entries = BoundedCache<Key, Entry>(capacity: Limit.entries)

    init(signer: PayloadSigner) {
        self.signer = signer
    }

    /// The transaction, signed.
    ///
    /// - Parameter now: virtual milliseconds since 1970.
    func signed(_ transaction: TransactionRecord, now: Int64) throws -> String {
        let key = Key(transactionId: transaction.transactionId, revision: transaction.revision)
        // A clock that was set back makes an entry younger than now: it is not used either.
        if let entry = entries[key], (0..<Limit.age).contains(now - entry.signedDate) { return entry.text }
        let text = try signer.sign(transaction.payload(signedDate: now))
        entries.put(Entry(signedDate: now, text: text), for: key)
        return text
    }

    /// Transactions as a JSON array of signed payloads.
    func list(_ transactions: [TransactionRecord], now: Int64) throws -> String {
        APIAnswer.list(try transactions.map { try signed($0, now: now) })
    }
}
