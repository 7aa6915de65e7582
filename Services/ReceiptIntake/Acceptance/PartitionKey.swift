import JSONText

/// The key of a submission: its lineage, as far as the proof says it.
///
/// In `countersign.lookups` it decides the partition; elsewhere it is a header (`Topics.isKeyed`). It is read from data
/// whose signature nobody has checked yet, so it decides nothing else. Whatever is odd about it, the account takes its
/// place.
enum PartitionKey {
    /// The longest original transaction id that is believed; Apple's have 15 to 18 digits.
    static let digitsMaximum = 64
    /// Apple's payloads are flat but for one object.
    private static let rules = JSONTape.Rules(nestingDepthMaximum: JSONBody.nestingMaximum, allowsNUL: false)

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
    static func originalTransactionId(in jws: CompactJWS) -> String? {
        guard let payload = jws.payload, let tape = try? JSONTape(payload, rules: rules),
            tape.kind(of: 0) == .object, let place = tape.member("originalTransactionId", of: 0),
            tape.kind(of: place) == .string
        else { return nil }
        let digits = tape.raw(place)
        guard (1...digitsMaximum).contains(digits.count),
            digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        return String(decoding: digits, as: UTF8.self)
    }
}
