import Messages

/// What an app posts to show that its player bought something, in a form that intake lets in.
///
/// Intake looks at the outside only: whether Apple made it is for the verification workers.
enum PurchaseProof: Sendable {
    /// StoreKit 2's signed transaction.
    case signedTransaction(CompactJWS)
    /// An app receipt, and which of its transactions the app says is this account's.
    case receipt(ReceiptText, named: TransactionId?)
    /// Nothing but an id: Apple has to be asked about it.
    case transactionId(TransactionId)
    /// Nothing but the id of the order in Apple's e-mail: Apple has to be asked about it, too.
    case orderId(OrderId)

    /// What kind of proof it is.
    var kind: ProofKind {
        switch self {
        case .signedTransaction: .signedTransaction
        case .receipt: .receipt
        case .transactionId: .transactionId
        case .orderId: .orderId
        }
    }

    /// The proof as it is hashed, stored and sent on.
    var text: String {
        switch self {
        case .signedTransaction(let jws): jws.text
        case .receipt(let receipt, _): receipt.text
        case .transactionId(let id): id.text
        case .orderId(let id): id.text
        }
    }

    /// The transaction of a receipt that the app names as this account's.
    var namedTransactionId: String? {
        if case .receipt(_, let named) = self { named?.text } else { nil }
    }

    /// Whether it names a transaction or an order by a number, which proves nothing by itself; whether the receipt beside
    /// it holds the transaction, only the verification workers see.
    var isNumber: Bool { kind.isNumber(named: namedTransactionId) }
}

extension ProofKind {
    /// Whether a proof of this kind claims something by its number.
    func isNumber(named: String?) -> Bool {
        switch self {
        case .transactionId, .orderId: true
        case .receipt: named != nil
        default: false
        }
    }
}
