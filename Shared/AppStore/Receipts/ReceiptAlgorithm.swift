import Crypto
import CryptoExtras
import Foundation

/// The digests that Apple has signed receipts with: SHA-1 until 2023, SHA-256 since.
enum ReceiptDigest: Sendable {
    case sha1
    case sha256

    /// Object identifiers of RFC 3370 and RFC 5754, as they are encoded.
    private enum Name {
        // 1.3.14.3.2.26
        static let sha1: [UInt8] = [0x2B, 0x0E, 0x03, 0x02, 0x1A]
        // 2.16.840.1.101.3.4.2.1
        static let sha256: [UInt8] = [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01]
        /// 1.2.840.113549.1.1, to which the last byte of an RSA algorithm is added.
        static let rsa: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01]
        static let rsaEncryption: UInt8 = 1
        static let sha1WithRSA: UInt8 = 5
        static let sha256WithRSA: UInt8 = 11
    }

    /// The digest with this object identifier.
    init?(objectIdentifier: ArraySlice<UInt8>) {
        if DERWalk.areEqual(objectIdentifier, Name.sha1[...]) {
            self = .sha1
        } else if DERWalk.areEqual(objectIdentifier, Name.sha256[...]) {
            self = .sha256
        } else {
            return nil
        }
    }

    /// Whether this object identifier stands for RSA, PKCS #1 v1.5, over this digest.
    ///
    /// `rsaEncryption` alone leaves the digest to the digest's own identifier (RFC 3370, section 3.2).
    func isSigned(by objectIdentifier: ArraySlice<UInt8>) -> Bool {
        guard let last = objectIdentifier.last, DERWalk.areEqual(objectIdentifier.dropLast(), Name.rsa[...]) else {
            return false
        }
        return switch self {
        case .sha1: last == Name.rsaEncryption || last == Name.sha1WithRSA
        case .sha256: last == Name.rsaEncryption || last == Name.sha256WithRSA
        }
    }

    func hash(_ data: ArraySlice<UInt8>) -> [UInt8] {
        switch self {
        case .sha1: Array(Insecure.SHA1.hash(data: data))
        case .sha256: Array(SHA256.hash(data: data))
        }
    }

    /// Whether a key signed what is in these parts, one after the other.
    func isValid(
        _ signature: ArraySlice<UInt8>, of parts: [ArraySlice<UInt8>], by key: _RSA.Signing.PublicKey
    ) -> Bool {
        let signature = _RSA.Signing.RSASignature(rawRepresentation: signature)
        switch self {
        case .sha1:
            var hash = Insecure.SHA1()
            for part in parts { hash.update(data: part) }
            return key.isValidSignature(signature, for: hash.finalize(), padding: .insecurePKCS1v1_5)
        case .sha256:
            var hash = SHA256()
            for part in parts { hash.update(data: part) }
            return key.isValidSignature(signature, for: hash.finalize(), padding: .insecurePKCS1v1_5)
        }
    }
}
