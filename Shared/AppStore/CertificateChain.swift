import Crypto
import Foundation
import SwiftASN1
import X509

/// The three certificates of a header, whose root is one of the trusted, judged by RFC 5280.
///
/// swift-certificates' `Verifier` finds a path among many; here the path is given, and three certificates in a fixed
/// order need no search, so the checks are made directly and without suspending.
struct CertificateChain {
    private enum Position {
        static let leaf = 0
        static let intermediate = 1
        static let root = 2
    }

    /// Apple's mark of a certificate that signs receipts and transactions.
    static let leafMarker: ASN1ObjectIdentifier = [1, 2, 840, 113635, 100, 6, 11, 1]
    /// Apple's mark of the authority "Worldwide Developer Relations".
    static let intermediateMarker: ASN1ObjectIdentifier = [1, 2, 840, 113635, 100, 6, 2, 1]

    private let certificates: [Certificate]
    /// The leaf's key; ES256 allows P-256 only.
    private let key: P256.Signing.PublicKey?

    /// Reads the certificates of a header and pins the root.
    init(_ encoded: [[UInt8]], roots: TrustedRoots) throws(SignedDataRejection) {
        guard roots.contains(certificate: encoded[Position.root]) else {
            throw SignedDataRejection(.rootNotTrusted, "x5c[2] is not a trusted root")
        }
        var certificates: [Certificate] = []
        for (index, bytes) in encoded.enumerated() {
            guard let certificate = try? Certificate(derEncoded: bytes) else {
                throw SignedDataRejection(.certificateInvalid, "x5c[\(index)] is not a certificate")
            }
            certificates.append(certificate)
        }
        self.certificates = certificates
        self.key = P256.Signing.PublicKey(certificates[Position.leaf].publicKey)
    }

    /// Makes a chain of certificates as they are; for ``verified(header:)`` all checks must have passed.
    func verified(header: ArraySlice<UInt8>) -> VerifiedChain? {
        guard let key else { return nil }
        return VerifiedChain(header: Array(header), leafKey: key, validity: validity)
    }

    /// When all three certificates are valid at once.
    var validity: ChainValidity {
        ChainValidity(
            from: certificates.map(\.notValidBefore).max() ?? .distantFuture,
            until: certificates.map(\.notValidAfter).min() ?? .distantPast)
    }

    /// Everything of RFC 5280, section 6.1, that does not depend on the time: names, signatures, authority.
    func checkPath() throws(SignedDataRejection) {
        for (index, certificate) in certificates.enumerated() {
            guard certificate.version == .v3 else { throw Self.broken(index, "is not of version 3") }
            try checkExtensions(of: certificate, at: index)
        }
        guard certificates[Position.root].issuer == certificates[Position.root].subject else {
            throw Self.broken(Position.root, "is not issued by itself")
        }
        // From the root downwards, as section 6.1 goes: nothing of a certificate counts before its signature does.
        try checkIssued(Position.intermediate, by: Position.root)
        try checkIssued(Position.leaf, by: Position.intermediate)
        guard key != nil else { throw Self.broken(Position.leaf, "has no P-256 key") }
    }

    /// Apple's markers, which tell a receipt's leaf from every other certificate under the same root.
    func checkMarkers() throws(SignedDataRejection) {
        guard certificates[Position.leaf].extensions[oid: Self.leafMarker] != nil else {
            throw SignedDataRejection(.leafMarkerMissing, "x5c[0] lacks \(Self.leafMarker)")
        }
        guard certificates[Position.intermediate].extensions[oid: Self.intermediateMarker] != nil else {
            throw SignedDataRejection(.intermediateMarkerMissing, "x5c[1] lacks \(Self.intermediateMarker)")
        }
    }

    private func checkIssued(_ subject: Int, by issuer: Int) throws(SignedDataRejection) {
        guard certificates[subject].issuer == certificates[issuer].subject else {
            throw Self.broken(subject, "is not issued by x5c[\(issuer)]")
        }
        guard
            certificates[issuer].publicKey.isValidSignature(certificates[subject].signature, for: certificates[subject])
        else { throw Self.broken(subject, "is not signed by x5c[\(issuer)]") }
    }

    private func checkExtensions(of certificate: Certificate, at index: Int) throws(SignedDataRejection) {
        let constraints: BasicConstraints?
        let usage: KeyUsage?
        do {
            constraints = try certificate.extensions.basicConstraints
            usage = try certificate.extensions.keyUsage
        } catch {
            throw Self.broken(index, "has an extension that cannot be read")
        }
        for unknown in certificate.extensions where unknown.critical && !Self.understood.contains(unknown.oid) {
            throw Self.broken(index, "has a critical extension that is not understood")
        }
        guard index != Position.leaf else {
            if case .isCertificateAuthority = constraints { throw Self.broken(index, "is an authority") }
            guard usage?.digitalSignature ?? true else { throw Self.broken(index, "may not sign data") }
            return
        }
        guard case .isCertificateAuthority(let pathLengthMaximum) = constraints else {
            throw Self.broken(index, "is not an authority")
        }
        // Between a certificate and the leaf lie as many others as its index says, less the leaf itself.
        guard pathLengthMaximum.map({ $0 >= index - 1 }) ?? true else {
            throw Self.broken(index, "may not have so long a path below it")
        }
        guard usage?.keyCertSign ?? true else { throw Self.broken(index, "may not sign certificates") }
    }

    private static let understood: Set<ASN1ObjectIdentifier> = [
        .X509ExtensionID.basicConstraints, .X509ExtensionID.keyUsage, leafMarker, intermediateMarker,
    ]

    private static func broken(_ index: Int, _ reason: String) -> SignedDataRejection {
        SignedDataRejection(.chainInvalid, "x5c[\(index)] \(reason)")
    }
}
