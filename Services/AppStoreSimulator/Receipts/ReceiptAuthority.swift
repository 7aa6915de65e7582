import Crypto
import CryptoExtras
import Foundation
import SwiftASN1
import X509

/// A root of our own for app receipts (PKCS #7), and below it a chain like Apple's: three RSA-2048 keys.
///
/// It is another root than the one for signed payloads, as with Apple: receipts end at "Apple Root CA", payloads at
/// "Apple Root CA - G3" (apple-facts C1). Nothing trusts it unless it is told to.
struct ReceiptAuthority: Sendable {
    /// A certificate and its key.
    struct Member: Sendable {
        let certificate: Certificate
        let key: _RSA.Signing.PrivateKey
    }

    /// 2015-01-01T00:00:00Z: the store's clock can be set back to 2016.
    private static let validFrom = Date(timeIntervalSince1970: 1_420_070_400)
    /// How long from now: more than the ten years that the store's clock can be ahead; 20 years.
    private static let validFor: TimeInterval = 20 * 365 * 86_400

    let root: Member
    let intermediate: Member
    let leaf: Member
    /// Makes receipts.
    let signer: CMSSigner
    /// Reads and checks receipts.
    let reader: ReceiptReader

    init(root: Member, intermediate: Member, leaf: Member) throws {
        self.root = root
        self.intermediate = intermediate
        self.leaf = leaf
        signer = try CMSSigner(
            key: leaf.key, certificates: [leaf.certificate, intermediate.certificate, root.certificate])
        reader = ReceiptReader(
            key: leaf.key.publicKey, certificate: try Self.encoded(leaf.certificate), signer: signer.identifier)
    }

    /// Makes new keys and certificates; some tenths of a second of work.
    init(now: Date) throws {
        let root = try Self.issue("Countersign Simulated Apple Root CA", by: nil, marker: nil, now: now)
        let intermediate = try Self.issue(
            "Countersign Simulated Worldwide Developer Relations Certification Authority", by: root,
            marker: CertificateAuthority.intermediateMarker, now: now)
        let leaf = try Self.issue(
            "Countersign Simulated Mac App Store and iTunes Store Receipt Signing", by: intermediate,
            marker: CertificateAuthority.leafMarker, now: now)
        try self.init(root: root, intermediate: intermediate, leaf: leaf)
    }

    /// The root certificate in DER.
    var encodedRoot: [UInt8] { get throws { try Self.encoded(root.certificate) } }

    /// A receipt of an app: its contents, signed, in DER.
    ///
    /// On a device it is the file `StoreKit/receipt`.
    func receipt(_ contents: ReceiptContents) throws -> [UInt8] {
        try signer.sign(contents.encoded())
    }

    /// A certificate in DER.
    static func encoded(_ certificate: Certificate) throws -> [UInt8] {
        var serializer = DER.Serializer()
        try serializer.serialize(certificate)
        return serializer.serializedBytes
    }

    /// Makes a key and its certificate.
    ///
    /// - Parameters:
    ///   - issuer: nil for a root, which signs itself.
    ///   - marker: Apple's mark of what it is for; the leaf's says that it signs receipts.
    private static func issue(
        _ commonName: String, by issuer: Member?, marker: ASN1ObjectIdentifier?, now: Date
    ) throws -> Member {
        let key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        let name = try DistinguishedName {
            CommonName(commonName)
            OrganizationalUnitName("Not Apple: development only")
            OrganizationName("Countersign")
            CountryName("US")
        }
        let publicKey = Certificate.PublicKey(key.publicKey)
        let isLeaf = marker == CertificateAuthority.leafMarker
        let recipe = CertificateRecipe(
            isAuthority: !isLeaf, pathLengthMaximum: isLeaf || issuer == nil ? nil : 0, marker: marker)
        let certificate = try Certificate(
            version: .v3, serialNumber: .init(), publicKey: publicKey, notValidBefore: validFrom,
            notValidAfter: now + validFor, issuer: issuer?.certificate.subject ?? name, subject: name,
            signatureAlgorithm: .sha256WithRSAEncryption,
            extensions: try recipe.extensions(
                of: publicKey, issuedBy: issuer?.certificate.publicKey ?? publicKey),
            issuerPrivateKey: .init(issuer?.key ?? key))
        return Member(certificate: certificate, key: key)
    }
}
