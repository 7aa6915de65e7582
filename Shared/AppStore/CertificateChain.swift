import Crypto
import CryptoExtras
import Foundation
import SwiftASN1
import X509

/// The three certificates of a header or a receipt, whose root is one of the trusted, judged by RFC 5280.
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

    /// What the chain is for, which says what key its leaf has.
    enum Purpose: Sendable {
        /// A JWS: ES256 allows P-256 only.
        case signedPayload
        /// A PKCS #7 receipt: RSA.
        case receipt

        /// What the certificates are called in a rejection's detail.
        fileprivate var label: String {
            switch self {
            case .signedPayload: "x5c"
            case .receipt: "chain"
            }
        }

        fileprivate var keyName: String {
            switch self {
            case .signedPayload: "P-256"
            case .receipt: "RSA"
            }
        }
    }

    private let purpose: Purpose
    private let certificates: [Certificate]
    /// The leaf's key, when it is one for signed payloads.
    private let key: P256.Signing.PublicKey?
    /// The leaf's key, when it is one for receipts.
    private let receiptKey: _RSA.Signing.PublicKey?

    /// Reads certificates, of which there are three, pins the root, and refuses what is denied.
    ///
    /// Every chain passes here before it is remembered, so that one that is denied is in no cache.
    init(
        _ encoded: [[UInt8]], roots: TrustedRoots, purpose: Purpose = .signedPayload
    ) throws(SignedDataRejection) {
        let label = purpose.label
        guard roots.contains(certificate: encoded[Position.root]) else {
            throw SignedDataRejection(.rootNotTrusted, "\(label)[2] is not a trusted root")
        }
        if let denied = roots.firstDenied(in: encoded) {
            throw SignedDataRejection(.certificateDenied, "\(label)[\(denied)] is denied by the settings")
        }
        var certificates: [Certificate] = []
        for (index, bytes) in encoded.enumerated() {
            guard let certificate = try? Certificate(derEncoded: bytes), Self.hasWholeSignature(bytes) else {
                throw SignedDataRejection(.certificateInvalid, "\(label)[\(index)] is not a certificate")
            }
            certificates.append(certificate)
        }
        self.purpose = purpose
        self.certificates = certificates
        let leafKey = certificates[Position.leaf].publicKey
        self.key = purpose == .signedPayload ? P256.Signing.PublicKey(leafKey) : nil
        self.receiptKey = purpose == .receipt ? _RSA.Signing.PublicKey(leafKey) : nil
    }

    /// Whether a certificate's signature has no spare bits in its last byte (RFC 5280, section 4.1).
    ///
    /// Signatures of ECDSA and RSA are whole bytes. The parser lets spare bits pass when they are zero; then one signed
    /// certificate could be spelled in several ways.
    private static func hasWholeSignature(_ certificate: [UInt8]) -> Bool {
        var outer = DERWalk(certificate)
        guard var parts = outer.enter(DERWalk.Tag.sequence), parts.next() != nil, parts.next() != nil,
            let signature = parts.next(DERWalk.Tag.bitString), let spareBits = certificate[signature.content].first
        else { return false }
        return spareBits == 0
    }

    /// The path of these certificates as they are, for which all checks must have passed; nil without a P-256 key.
    ///
    /// - Parameter encoded: the certificates.
    func verifiedPath(_ encoded: [[UInt8]]) -> VerifiedPath? {
        key.map { VerifiedPath(certificates: encoded, leafKey: $0, validity: validity) }
    }

    /// The same for a receipt's chain; `encoded` are the certificates one after the other.
    func verifiedForReceipts(encoded: [UInt8]) -> VerifiedReceiptChain? {
        guard let receiptKey else { return nil }
        return VerifiedReceiptChain(header: encoded, leafKey: receiptKey, validity: validity)
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
            guard certificate.version == .v3 else { throw broken(index, "is not of version 3") }
            try checkExtensions(of: certificate, at: index)
        }
        guard certificates[Position.root].issuer == certificates[Position.root].subject else {
            throw broken(Position.root, "is not issued by itself")
        }
        // From the root downwards, as section 6.1 goes: nothing of a certificate counts before its signature does.
        try checkIssued(Position.intermediate, by: Position.root)
        try checkIssued(Position.leaf, by: Position.intermediate)
        guard key != nil || receiptKey != nil else {
            throw broken(Position.leaf, "has no \(purpose.keyName) key")
        }
    }

    /// Apple's markers, which tell a receipt's leaf from every other certificate under the same root.
    func checkMarkers() throws(SignedDataRejection) {
        guard certificates[Position.leaf].extensions[oid: Self.leafMarker] != nil else {
            throw SignedDataRejection(.leafMarkerMissing, "\(purpose.label)[0] lacks \(Self.leafMarker)")
        }
        guard certificates[Position.intermediate].extensions[oid: Self.intermediateMarker] != nil else {
            throw SignedDataRejection(
                .intermediateMarkerMissing, "\(purpose.label)[1] lacks \(Self.intermediateMarker)")
        }
    }

    private func checkIssued(_ subject: Int, by issuer: Int) throws(SignedDataRejection) {
        guard certificates[subject].issuer == certificates[issuer].subject else {
            throw broken(subject, "is not issued by \(purpose.label)[\(issuer)]")
        }
        guard
            certificates[issuer].publicKey.isValidSignature(certificates[subject].signature, for: certificates[subject])
        else { throw broken(subject, "is not signed by \(purpose.label)[\(issuer)]") }
    }

    private func checkExtensions(of certificate: Certificate, at index: Int) throws(SignedDataRejection) {
        let constraints: BasicConstraints?
        let usage: KeyUsage?
        do {
            constraints = try certificate.extensions.basicConstraints
            usage = try certificate.extensions.keyUsage
        } catch {
            throw broken(index, "has an extension that cannot be read")
        }
        for unknown in certificate.extensions where unknown.critical && !Self.understood.contains(unknown.oid) {
            throw broken(index, "has a critical extension that is not understood")
        }
        guard index != Position.leaf else {
            if case .isCertificateAuthority = constraints { throw broken(index, "is an authority") }
            guard usage?.digitalSignature ?? true else { throw broken(index, "may not sign data") }
            return
        }
        guard case .isCertificateAuthority(let pathLengthMaximum) = constraints else {
            throw broken(index, "is not an authority")
        }
        // Between a certificate and the leaf lie as many others as its index says, less the leaf itself.
        guard pathLengthMaximum.map({ $0 >= index - 1 }) ?? true else {
            throw broken(index, "may not have so long a path below it")
        }
        guard usage?.keyCertSign ?? true else { throw broken(index, "may not sign certificates") }
    }

    private static let understood: Set<ASN1ObjectIdentifier> = [
        .X509ExtensionID.basicConstraints, .X509ExtensionID.keyUsage, leafMarker, intermediateMarker,
    ]

    private func broken(_ index: Int, _ reason: String) -> SignedDataRejection {
        SignedDataRejection(.chainInvalid, "\(purpose.label)[\(index)] \(reason)")
    }
}
