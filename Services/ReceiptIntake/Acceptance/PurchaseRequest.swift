import Messages
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
            guard let jws = PostedJWS(posted: text) else { throw ProblemDetails.proofMalformed }
            return .signedTransaction(jws)
        case (nil, let text?, let id, nil):
            let named = try id.map(Self.transactionId)
            // It is a proof by itself, and names its transaction.
            if let jws = PostedJWS(posted: text) { return .signedTransaction(jws) }
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

/// What an app posts to show that its player bought something, in a form that intake lets in.
///
/// Intake looks at the outside only: whether Apple made it is for the verification workers.
enum PurchaseProof: Sendable {
    /// StoreKit 2's signed transaction.
    case signedTransaction(PostedJWS)
    /// An app receipt, and which of its transactions the app says is this account's.
    case receipt(ReceiptText, named: TransactionId?)
    /// Nothing but an id: Apple has to be asked about it.
    case transactionId(TransactionId)
    /// Nothing but the id of the order in Apple's e-mail: Apple has to be asked about it, too.
    case orderId(OrderId)

    /// Whether it is a signed transaction that says that it is of the sandbox.
    ///
    /// Nobody has checked its signature yet; but what is signed says the same, or it is refused.
    var saysSandbox: Bool {
        guard case .signedTransaction(let jws) = self, let name = jws.bytes(of: "environment") else { return false }
        return StoreEnvironment(appleName: String(decoding: name, as: UTF8.self)) == .sandbox
    }

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

/// The key of a submission: its lineage, as far as the proof says it.
///
/// In `countersign.lookups` it decides the partition; elsewhere it is a header (`Topics.isKeyed`). It is read from data
/// whose signature nobody has checked yet, so it decides nothing else. Whatever is odd about it, the account takes its
/// place.
enum PartitionKey {
    /// The longest original transaction id that is believed; Apple's have 15 to 18 digits.
    static let digitsMaximum = 64

    /// The key of a proof.
    ///
    /// A receipt is not opened here: the transaction that is named in it, or the account, is its key.
    static func make(_ proof: PurchaseProof, account: String) -> String {
        switch proof {
        case .signedTransaction(let jws): originalTransactionId(in: jws) ?? account
        case .receipt(_, let named): named?.text ?? account
        case .transactionId(let id): id.text
        case .orderId(let id): id.text
        }
    }

    /// The original transaction id that a JWS says, whoever made it; nil when it is none that Apple would write.
    static func originalTransactionId(in jws: PostedJWS) -> String? {
        guard let digits = jws.bytes(of: "originalTransactionId"), (1...digitsMaximum).contains(digits.count),
            digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        return String(decoding: digits, as: UTF8.self)
    }
}

/// An id of a transaction in the form that intake lets in; Apple's have 15 to 18 digits.
///
/// Letters are let in because Apple calls it a string and promises no digits.
/// Source: developer.apple.com/documentation/appstoreserverapi/transactionid.
struct TransactionId: Sendable {
    /// The most characters.
    static let lengthMaximum = 64

    /// The id.
    let text: String

    /// Takes a text; nil unless it is 1 to `lengthMaximum` letters and digits of ASCII.
    init?(_ text: String) {
        let bytes = text.utf8
        guard (1...Self.lengthMaximum).contains(bytes.count), bytes.allSatisfy(Self.isLetterOrDigit) else { return nil }
        self.text = text
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }
}

/// The id of an order as Apple's e-mail to the customer tells it, such as `MV7KQ2XH0P`.
///
/// A player copies it from an e-mail, so spaces around it and the case of its letters are not the player's fault: it is
/// trimmed and written in upper case, and so is the same however it was typed.
/// Source: developer.apple.com/documentation/appstoreserverapi/orderid.
struct OrderId: Sendable {
    /// The most characters; Apple's have about ten.
    static let lengthMaximum = 64

    /// The id, in upper case.
    let text: String

    /// Takes a text; nil unless it is 1 to `lengthMaximum` letters and digits of ASCII between white space.
    init?(_ given: String) {
        // Counted first, so that a long text of spaces costs nothing.
        guard given.utf8.count <= 2 * Self.lengthMaximum else { return nil }
        let trimmed = given.drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed()
        guard let id = TransactionId(String(trimmed)) else { return nil }
        text = id.text.uppercased()
    }
}
