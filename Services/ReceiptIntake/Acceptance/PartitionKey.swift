import Foundation

/// The Kafka key of a submission: what keeps all transactions of one lineage in one partition, and thereby in order.
///
/// It is read from data whose signature nobody has checked yet, so it decides nothing but the partition. Whatever is
/// odd about it, the account takes its place.
enum PartitionKey {
    /// The longest original transaction id that is believed; Apple's have 15 to 18 digits.
    static let digitsMaximum = 64

    private struct Payload: Decodable {
        let originalTransactionId: String
    }

    /// The key of a proof.
    ///
    /// A receipt is not opened here: the transaction that is named in it, or the account, keeps its order.
    static func make(_ proof: PurchaseProof, account: String) -> String {
        switch proof {
        case .signedTransaction(let jws): originalTransactionId(in: jws) ?? account
        case .receipt(_, let named): named?.text ?? account
        case .transactionId(let id): id.text
        case .orderId(let id): id.text
        }
    }

    /// The original transaction id that a JWS says, whoever made it; nil when it is none that Apple would write.
    static func originalTransactionId(in jws: CompactJWS) -> String? {
        guard let payload = Base64URL.decode(jws.encodedPayload),
            let peeked = try? JSONDecoder().decode(Payload.self, from: payload)
        else { return nil }
        let digits = peeked.originalTransactionId.utf8
        guard (1...digitsMaximum).contains(digits.count),
            digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        return peeked.originalTransactionId
    }
}
