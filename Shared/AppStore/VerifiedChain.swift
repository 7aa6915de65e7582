import Crypto
import Foundation

/// The time in which every certificate of a chain is valid; both ends belong to it (RFC 5280, section 4.1.2.5).
///
/// Certificates count in seconds, and signing times in milliseconds: a certificate is valid to the end of its last second.
struct ChainValidity: Sendable {
    private static let second: TimeInterval = 1

    let from: Date
    let until: Date

    func check(at date: Date) throws(SignedDataRejection) {
        guard date >= from else {
            throw SignedDataRejection(.certificateExpired, "signed before a certificate was valid")
        }
        guard date < until + Self.second else {
            throw SignedDataRejection(.certificateExpired, "signed after a certificate expired")
        }
    }
}

/// A path from a trusted root to a leaf that has passed every check of its own, found again by its certificates.
///
/// A header may say more than its chain, a `kid` for one: so the same chain comes under headers without end, and is judged
/// once.
final class VerifiedPath: RememberedChain {
    /// The certificates as they came, each after its length.
    let header: [UInt8]
    let leafKey: P256.Signing.PublicKey
    let validity: ChainValidity

    init(certificates: [[UInt8]], leafKey: P256.Signing.PublicKey, validity: ChainValidity) {
        header = Self.key(of: certificates)
        self.leafKey = leafKey
        self.validity = validity
    }

    /// What a path is found by; with lengths, since the same bytes might be cut elsewhere.
    static func key(of certificates: [[UInt8]]) -> [UInt8] {
        certificates.flatMap { certificate in
            withUnsafeBytes(of: UInt64(certificate.count)) { Array($0) } + certificate
        }
    }
}

/// A chain that has passed every check that does not depend on the payload.
final class VerifiedChain: RememberedChain {
    /// The header's part of the JWS, exactly as it came.
    let header: [UInt8]
    let validity: ChainValidity

    private let leafKey: P256.Signing.PublicKey
    /// SHA-256 after the header and its dot, which are four fifths of what is signed and always the same.
    private let headerDigested: SHA256

    init(header: [UInt8], path: VerifiedPath) {
        self.header = header
        leafKey = path.leafKey
        validity = path.validity
        var digest = SHA256()
        digest.update(data: header)
        digest.update(data: [UInt8(ascii: ".")])
        self.headerDigested = digest
    }

    /// Checks that the leaf signed this payload under this header (C6, step 6).
    ///
    /// - Parameters:
    ///   - signature: r and s of 32 bytes each (RFC 7518, section 3.4); DER, which other protocols use, is refused.
    ///   - payload: the payload's part of the JWS, still encoded.
    func checkSignature(_ signature: [UInt8], of payload: ArraySlice<UInt8>) throws(SignedDataRejection) {
        guard signature.count == 64, let raw = try? P256.Signing.ECDSASignature(rawRepresentation: signature) else {
            throw SignedDataRejection(.signatureInvalid, "the signature has \(signature.count) bytes, not 64")
        }
        var digest = headerDigested
        digest.update(data: payload)
        guard leafKey.isValidSignature(raw, for: digest.finalize()) else {
            throw SignedDataRejection(.signatureInvalid, "the signature is not the leaf's over this content")
        }
    }
}
