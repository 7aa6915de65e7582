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
    /// What the app was built for, as it says: a hint of where to look, and no proof.
    let environment: String?

    enum CodingKeys: String, CodingKey {
        case app, account, receipt, environment
        case signedTransaction = "signed_transaction"
        case transactionId = "transaction_id"
    }

    /// The one proof.
    ///
    /// - Throws: `ProblemDetails` when there is none, more than one, or it is not what its field says.
    func proof() throws -> PurchaseProof {
        switch (signedTransaction, receipt, transactionId) {
        case (let text?, nil, nil):
            guard let jws = CompactJWS(text) else { throw ProblemDetails.proofMalformed }
            return .signedTransaction(jws)
        case (nil, let text?, let id):
            let named = try id.map(Self.transactionId)
            do {
                return .receipt(try ReceiptText(text), named: named)
            } catch {
                throw ProblemDetails.receiptMalformed(error)
            }
        case (nil, nil, let id?): return .transactionId(try Self.transactionId(id))
        case (nil, nil, nil): throw ProblemDetails.proofMissing
        case (_?, _?, _): throw ProblemDetails.proofAmbiguous("signed_transaction", "receipt")
        case (_?, nil, _?): throw ProblemDetails.proofAmbiguous("signed_transaction", "transaction_id")
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
