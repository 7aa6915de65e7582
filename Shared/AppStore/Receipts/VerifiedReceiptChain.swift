import CryptoExtras
import Foundation

/// A chain that has passed every check that does not depend on the receipt.
final class VerifiedReceiptChain: RememberedChain {
    /// Leaf, intermediate and root in DER, one after the other.
    let header: [UInt8]
    let validity: ChainValidity

    private let leafKey: _RSA.Signing.PublicKey

    init(header: [UInt8], leafKey: _RSA.Signing.PublicKey, validity: ChainValidity) {
        self.header = header
        self.leafKey = leafKey
        self.validity = validity
    }

    /// Checks that the leaf signed this receipt's content.
    func checkSignature(of receipt: SignedReceipt) throws(SignedDataRejection) {
        let signer = receipt.signer
        let parts = try signer.signedParts(receipt.bytes, content: receipt.content)
        guard signer.digest.isValid(receipt.bytes[signer.signature], of: parts, by: leafKey) else {
            throw SignedDataRejection(.signatureInvalid, "the signature is not the signer's over this content")
        }
    }
}

/// The way from a receipt's signer up to its root.
///
/// A receipt's certificates are a set, in any order (RFC 5652, section 10.2.3), so they are found by their names.
struct ReceiptPath {
    /// Where in the receipt's list they are.
    let leaf: Int
    let intermediate: Int
    let root: Int

    /// Where the signer's certificate is; nil when it is not in the receipt.
    static func signer(of receipt: SignedReceipt) -> Int? {
        let bytes = receipt.bytes
        return receipt.certificates.firstIndex { certificate in
            DERWalk.areEqual(bytes[certificate.serialNumber], bytes[receipt.signer.serialNumber])
                && DERWalk.areEqual(bytes[certificate.issuer], bytes[receipt.signer.issuer])
        }
    }

    /// The ways up, by names alone.
    ///
    /// There is more than one only where two certificates have the same name, as Apple's
    /// intermediates of 2008 and 2013 do.
    static func paths(from leaf: Int, in receipt: SignedReceipt) -> [ReceiptPath] {
        issuers(of: leaf, in: receipt).flatMap { intermediate in
            issuers(of: intermediate, in: receipt).filter { $0 != leaf }.map { root in
                ReceiptPath(leaf: leaf, intermediate: intermediate, root: root)
            }
        }
    }

    private static func issuers(of subject: Int, in receipt: SignedReceipt) -> [Int] {
        let bytes = receipt.bytes
        let issuer = receipt.certificates[subject].issuer
        return receipt.certificates.indices.filter { index in
            index != subject && DERWalk.areEqual(bytes[receipt.certificates[index].subject], bytes[issuer])
        }
    }

    /// The three certificates in DER.
    func certificates(of receipt: SignedReceipt) -> [[UInt8]] {
        [leaf, intermediate, root].map { Array(receipt.bytes[receipt.certificates[$0].whole]) }
    }
}
