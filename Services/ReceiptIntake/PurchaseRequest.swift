import PurchaseModel
import ServiceRuntime

/// What an app posts: for which app and account, and exactly one proof.
struct PurchaseRequest: Decodable, Sendable {
    let app: String
    let account: String?
    /// StoreKit 2's `jwsRepresentation`.
    let signedTransaction: String?
    /// The app receipt in base64.
    let receipt: String?
    /// Alone it is the proof; beside a receipt it names which of its transactions is the account's.
    let transactionId: String?
    /// The id of the order in Apple's e-mail to the customer; a proof by itself.
    let orderId: String?
    /// What the app was built for, as it says: a hint of where to look, and no proof.
    let environment: String?

    enum CodingKeys: String, CodingKey {
        case app, account, receipt, environment
        case signedTransaction = "signed_transaction"
        case transactionId = "transaction_id"
        case orderId = "order_id"
    }

    /// The one proof.
    ///
    /// - Throws: `ProblemDetails` when there is none, more than one, or it is not what its field says.
    func proof() throws -> PurchaseProof {
        switch (signedTransaction, receipt, transactionId, orderId) {
        case (let text?, nil, nil, nil):
            guard let jws = CompactJWS(posted: text) else { throw ProblemDetails.proofMalformed }
            return .signedTransaction(jws)
        case (nil, let text?, let id, nil):
            let named = try id.map(Self.transactionId)
            // It is a proof by itself, and names its transaction.
            if let jws = CompactJWS(posted: text) { return .signedTransaction(jws) }
            do {
                return .receipt(try ReceiptText(text), named: named)
            } catch {
                throw ProblemDetails.receiptMalformed(error)
            }
        case (nil, nil, let id?, nil): return .transactionId(try Self.transactionId(id))
        case (nil, nil, nil, let id?):
            guard let id = OrderId(id) else {
                throw ProblemDetails.fieldInvalid(
                    "order_id", "1 to \(OrderId.lengthMaximum) letters and digits of ASCII")
            }
            return .orderId(id)
        case (nil, nil, nil, nil): throw ProblemDetails.proofMissing
        case (_?, _?, _, _): throw ProblemDetails.proofAmbiguous("signed_transaction", "receipt")
        case (_?, nil, _?, _): throw ProblemDetails.proofAmbiguous("signed_transaction", "transaction_id")
        case (_?, nil, nil, _?): throw ProblemDetails.proofAmbiguous("signed_transaction", "order_id")
        case (nil, _?, _, _?): throw ProblemDetails.proofAmbiguous("receipt", "order_id")
        case (nil, nil, _?, _?): throw ProblemDetails.proofAmbiguous("transaction_id", "order_id")
        }
    }

    /// The environment that the app was built for; nil when it does not say.
    ///
    /// - Throws: `ProblemDetails` for a name that is none.
    func expectedEnvironment() throws -> StoreEnvironment? {
        try StoreEnvironment(field: environment)
    }

    private static func transactionId(_ text: String) throws -> TransactionId {
        guard let id = TransactionId(text) else {
            throw ProblemDetails.fieldInvalid(
                "transaction_id", "1 to \(TransactionId.lengthMaximum) letters and digits of ASCII")
        }
        return id
    }
}
