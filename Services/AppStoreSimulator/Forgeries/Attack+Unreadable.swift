import Foundation

/// Receipts that Apple signed, and that a backend of today cannot read.
extension Attack {
    static let unreadable = [
        receipt(
            "receipt_of_unknown_type", "A genuine receipt whose type is none of Apple's four.",
            goodBackend: "It is kept until somebody can read it: Apple signed it.", Array("Production".utf8),
            replacedBy: Array("Tomorrow's".utf8)),
        receipt(
            "receipt_with_attribute_twice", "A genuine receipt in which the app's number stands twice.",
            goodBackend: "It is kept until somebody can read it; verifyReceipt can.", head(of: [1, 11]),
            replacedBy: head(of: [1, 1])),
        receipt(
            "receipt_with_date_of_another_type", "A genuine receipt whose creation date is a GeneralizedTime.",
            goodBackend: "It is kept until somebody can read it: Apple signed it.", head(of: [1, 12]) + [22, 0x16],
            replacedBy: head(of: [1, 12]) + [22, 0x18]),
        receipt(
            "receipt_with_unreadable_purchase", "A genuine receipt of two purchases, one of which has a field twice.",
            goodBackend: "The other one counts; a transaction that is not listed may be this one.",
            head(of: [2, 0x06, 0xB2]), replacedBy: head(of: [2, 0x06, 0xB1])),
    ]

    /// What stands before an attribute's value: its number, with its length, and its version, which is 1.
    private static func head(of number: [UInt8]) -> [UInt8] { [0x02] + number + [0x02, 0x01, 0x01, 0x04] }

    /// A receipt of two purchases, of which some bytes are made others before it is signed; as many, so that all lengths stay
    /// right.
    private static func receipt(
        _ kind: String, _ what: String, goodBackend: String, _ bytes: [UInt8], replacedBy other: [UInt8]
    ) -> Attack {
        Attack(kind, what, goodBackend: goodBackend) { material in
            let first = try await material.buy { $0.productId += ".other" }
            let second = try await material.buy { $0.accountId = first.accountId }
            var content = Data(try await material.receiptContents(of: second).encoded())
            if let range = content.range(of: Data(bytes)) { content.replaceSubrange(range, with: other) }
            let receipt = try material.receipts.signer.sign([UInt8](content))
            return [.receipt(Data(receipt).base64EncodedString())]
        }
    }
}
