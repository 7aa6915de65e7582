import ArgumentParser

/// What a load posts for one purchase.
struct LoadProof: Sendable, Equatable {
    /// What kind it is.
    let kind: LoadProofKind
    /// The transaction that it is about, and that a receipt is posted with.
    let transactionId: String
    let originalTransactionId: String
    /// The signed transaction, or the receipt in base64; nil where the id is all.
    let content: String?

    /// The fields of the body that are the proof.
    var fields: [String: String] {
        switch kind {
        case .signedTransaction: ["signed_transaction": content ?? ""]
        case .receipt: ["receipt": content ?? "", "transaction_id": transactionId]
        case .transactionId: ["transaction_id": transactionId]
        }
    }
}

/// A kind of proof, named as the fields and the table are.
enum LoadProofKind: String, Codable, Sendable, CaseIterable {
    case signedTransaction = "signed_transaction"
    case receipt
    case transactionId = "transaction_id"
}

/// The kinds that a load posts in turn: `signed_transaction,receipt`; one that is named twice comes twice as often.
struct LoadProofKinds: ExpressibleByArgument, Sendable {
    /// The most names.
    static let countMaximum = 16

    /// At least one.
    let kinds: [LoadProofKind]

    /// The same for every load that does not say otherwise.
    static let signedTransactions = LoadProofKinds(kinds: [.signedTransaction])

    init(kinds: [LoadProofKind]) {
        self.kinds = kinds
    }

    /// Reads names with commas between; nil when one is none.
    init?(argument: String) {
        let names = argument.split(separator: ",", omittingEmptySubsequences: false)
        let kinds = names.compactMap { LoadProofKind(rawValue: String($0)) }
        guard kinds.count == names.count, (1...Self.countMaximum).contains(kinds.count) else { return nil }
        self.kinds = kinds
    }

    var defaultValueDescription: String { kinds.map(\.rawValue).joined(separator: ",") }
}
