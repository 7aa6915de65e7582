import Crypto
import CryptoExtras
import Foundation

/// Reads receipts, and tells ours from others.
struct ReceiptReader: Sendable {
    /// What a receipt turned out to be.
    enum Reading: Sendable {
        /// No receipt at all.
        case malformed
        /// A receipt, but of somebody else, or changed since it was signed.
        case notAuthentic
        case contents(ReceiptContents)
    }

    /// The key that signed ours.
    private let key: _RSA.Signing.PublicKey
    /// Its certificate in DER.
    private let certificate: [UInt8]
    private let signer: CMSSigner.Identifier

    init(key: _RSA.Signing.PublicKey, certificate: [UInt8], signer: CMSSigner.Identifier) {
        self.key = key
        self.certificate = certificate
        self.signer = signer
    }

    /// Reads a receipt as apps send it, in base64.
    func read(base64: String) -> Reading {
        guard !base64.isEmpty, let receipt = Data(base64Encoded: base64) else { return .malformed }
        return read([UInt8](receipt))
    }

    /// Reads a receipt in DER.
    func read(_ receipt: [UInt8]) -> Reading {
        guard let parts = SignedParts(receipt) else { return .malformed }
        guard isOurs(parts, in: receipt) else { return .notAuthentic }
        let payload = Array(receipt[parts.content])
        return ReceiptContents(payload: payload).map(Reading.contents) ?? .malformed
    }

    /// Whether our key signed it.
    ///
    /// The chain needs no checking: the certificate must be the one that we made.
    private func isOurs(_ parts: SignedParts, in receipt: [UInt8]) -> Bool {
        guard receipt[parts.issuerAndSerialNumber].elementsEqual(signer.issuerAndSerialNumber),
            receipt[parts.digestAlgorithm].elementsEqual(signer.digestAlgorithm),
            parts.certificates.contains(where: { receipt[$0].elementsEqual(certificate) })
        else { return false }
        let signature = _RSA.Signing.RSASignature(rawRepresentation: receipt[parts.signature])
        return key.isValidSignature(
            signature, for: SHA256.hash(data: receipt[parts.content]), padding: .insecurePKCS1v1_5)
    }
}

/// Where the parts of a SignedData (RFC 5652, section 5.1) lie in a receipt's bytes.
private struct SignedParts {
    /// 1.2.840.113549.1.7.2 and 1.2.840.113549.1.7.1, as contents of an OBJECT IDENTIFIER.
    private enum Name {
        static let signedData: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x02]
        static let data: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x01]
    }

    let content: Range<Int>
    /// Each with its tag and length.
    let certificates: [Range<Int>]
    let issuerAndSerialNumber: Range<Int>
    let digestAlgorithm: Range<Int>
    let signature: Range<Int>

    /// Nil when the bytes are something else, or BER such as Xcode writes.
    init?(_ bytes: [UInt8]) {
        typealias Tag = DERCursor.Tag
        var cursor = DERCursor(bytes)
        guard var info = cursor.enter(Tag.sequence), cursor.isAtEnd,
            let type = info.next(Tag.objectIdentifier), bytes[type.content].elementsEqual(Name.signedData),
            var explicit = info.enter(Tag.context), var signed = explicit.enter(Tag.sequence),
            signed.next(Tag.integer) != nil, signed.next(Tag.set) != nil,
            var encapsulated = signed.enter(Tag.sequence),
            let contentType = encapsulated.next(Tag.objectIdentifier),
            bytes[contentType.content].elementsEqual(Name.data), var content = encapsulated.enter(Tag.context),
            let octets = content.next(Tag.octetString), var listed = signed.enter(Tag.context),
            var signers = signed.enter(Tag.set), var signer = signers.enter(Tag.sequence),
            signer.next(Tag.integer) != nil, let issuer = signer.next(Tag.sequence),
            let digest = signer.next(Tag.sequence), signer.next(Tag.sequence) != nil,
            let signature = signer.next(Tag.octetString)
        else { return nil }
        var certificates: [Range<Int>] = []
        while let certificate = listed.next(Tag.sequence) { certificates.append(certificate.whole) }
        self.content = octets.content
        self.certificates = certificates
        issuerAndSerialNumber = issuer.whole
        digestAlgorithm = digest.whole
        self.signature = signature.content
    }
}
