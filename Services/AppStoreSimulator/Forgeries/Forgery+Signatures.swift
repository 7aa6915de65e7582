import Crypto
import Foundation
import HTTPTypes

/// The genuine chain, and a signature that it did not make (apple-facts C6, step 6).
extension Forgery {
    static let signatures = [
        Forgery(
            "edited_payload", "signature_invalid", "A genuine transaction whose quantity was made ten times as large."
        ) { material in
            try material.editing { $0["quantity"] = String(material.transaction.quantity * 10) }
        },
        Forgery(
            "edited_product", "signature_invalid", "A genuine transaction whose product was made another."
        ) { material in
            try material.editing { $0["productId"] = JSONText.quoted(material.transaction.productId + ".deluxe") }
        },
        Forgery(
            "signature_of_another", "signature_invalid", "The signature of another genuine transaction."
        ) { material in
            let other = material.payload { $0["transactionId"] = "\"1\"" }
            let signature = try material.sign(other).split(separator: ".")[2]
            return "\(try material.genuineParts().signed).\(signature)"
        },
        Forgery(
            "edited_header", "signature_invalid", "The genuine signature under a header with one more field."
        ) { material in
            let (_, signature) = try material.genuineParts()
            let header = Base64URL.encode(Array(try material.header(more: ",\"typ\":\"JWT\"").utf8))
            return "\(header).\(Base64URL.encode(Array(material.payload.utf8))).\(Base64URL.encode(signature))"
        },
        Forgery(
            "another_leafs_key", "signature_invalid",
            "The genuine chain, and a signature by a key for which the same authority issued another leaf."
        ) { material in
            try material.shelf.signer("another_leafs_key") {
                let other = try material.authority.chain(replacingLeaf: .leaf, now: material.now)
                return PayloadSigner(header: try material.header(), key: other.leafKey)
            }.sign(material.payload)
        },
        Forgery(
            "signature_in_der", "signature_invalid", "The genuine signature in DER, as X.509 and TLS write it."
        ) { material in
            try material.replacingSignature {
                [UInt8](try P256.Signing.ECDSASignature(rawRepresentation: $0).derRepresentation)
            }
        },
        Forgery(
            "zero_signature", "signature_invalid", "r and s are zero: good for any content in CVE-2022-21449."
        ) { try $0.replacingSignature { _ in [UInt8](repeating: 0, count: 64) } },
        Forgery(
            "signature_of_group_order", "signature_invalid",
            "r and s are the order of the curve's group, which is zero too for those who forget to look."
        ) { try $0.replacingSignature { _ in groupOrder + groupOrder } },
        Forgery("truncated_signature", "signature_invalid", "The genuine signature without its last byte.") {
            try $0.replacingSignature { $0.dropLast() }
        },
        Forgery("lengthened_signature", "signature_invalid", "The genuine signature and a zero byte.") {
            try $0.replacingSignature { $0 + [0] }
        },
        Forgery("swapped_signature", "signature_invalid", "The genuine signature with r and s in each other's place.") {
            try $0.replacingSignature { Array($0[32...] + $0[..<32]) }
        },
    ]

    /// The order n of P-256 (SEC 2, section 2.4.2).
    private static let groupOrder: [UInt8] = [
        0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xBC, 0xE6, 0xFA, 0xAD,
        0xA7, 0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63, 0x25, 0x51,
    ]
}

extension ForgeryMaterial {
    /// A genuine signature under a payload that was changed afterwards.
    func editing(_ change: (inout PayloadText) -> Void) throws -> String {
        try Self.editing(try sign(payload), payload(change))
    }

    /// A signed payload with another in its place, and its old signature.
    static func editing(_ signed: String, _ payload: String) throws -> String {
        let parts = signed.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3 else { throw Problem(.internalServerError, "what is edited is not signed") }
        return "\(parts[0]).\(Base64URL.encode(Array(payload.utf8))).\(parts[2])"
    }
}
