/// Transactions as answers list them, each with its ids and signed.
struct TransactionList: Sendable {
    enum Limit {
        /// Signatures made before others get their turn: some milliseconds of work.
        static let signaturesPerTurn = 64
    }

    let signer: PayloadSigner

    /// A JSON array.
    ///
    /// - Parameter signedDate: milliseconds since 1970.
    @inline(never)
    func json(_ transactions: [TransactionRecord], signedDate: Int64) async throws -> String {
        var signed: [String] = []
        signed.reserveCapacity(transactions.count)
        for (index, transaction) in transactions.enumerated() {
            if index % Limit.signaturesPerTurn == Limit.signaturesPerTurn - 1 { await Task.yield() }
            var json = JSONText()
            json.add("transactionId", transaction.transactionId)
            json.add("originalTransactionId", transaction.originalTransactionId)
            json.add("webOrderLineItemId", transaction.webOrderLineItemId)
            json.add("signedTransaction", try signer.sign(transaction.payload(signedDate: signedDate)))
            signed.append(json.object)
        }
        return "[\(signed.joined(separator: ","))]"
    }
}
