import Crypto
import Foundation
import SwiftASN1
import X509

/// A root of our own, and below it a chain like Apple's: a root and an intermediate with P-384 keys, and a leaf with a
/// P-256 key that signs payloads.
///
/// Nothing trusts this root unless it is told to, by the fingerprint in `root.sha256`.
struct CertificateAuthority: Sendable {
    /// What signs payloads: three certificates, and the leaf's key.
    struct Chain: Sendable {
        let leaf: Certificate
        let intermediate: Certificate
        let root: Certificate
        let leafKey: P256.Signing.PrivateKey

        /// Leaf, intermediate, root in DER, as `x5c` lists them.
        var encoded: [[UInt8]] { get throws { try [leaf, intermediate, root].map(CertificateAuthority.encoded) } }
    }

    /// Apple's mark of a certificate that signs receipts and transactions.
    static let leafMarker: ASN1ObjectIdentifier = [1, 2, 840, 113635, 100, 6, 11, 1]
    /// Apple's mark of the authority "Worldwide Developer Relations".
    static let intermediateMarker: ASN1ObjectIdentifier = [1, 2, 840, 113635, 100, 6, 2, 1]

    private static let day: TimeInterval = 86_400

    let root: Certificate
    let rootKey: P384.Signing.PrivateKey
    let intermediate: Certificate
    let intermediateKey: P384.Signing.PrivateKey
    let leaf: Certificate
    let leafKey: P256.Signing.PrivateKey

    /// The chain that signs what is sold.
    var chain: Chain { Chain(leaf: leaf, intermediate: intermediate, root: root, leafKey: leafKey) }

    init(
        root: Certificate, rootKey: P384.Signing.PrivateKey, intermediate: Certificate,
        intermediateKey: P384.Signing.PrivateKey, leaf: Certificate, leafKey: P256.Signing.PrivateKey
    ) {
        self.root = root
        self.rootKey = rootKey
        self.intermediate = intermediate
        self.intermediateKey = intermediateKey
        self.leaf = leaf
        self.leafKey = leafKey
    }

    /// Makes new keys and certificates, valid from a day before `now`.
    init(now: Date, rootRecipe: CertificateRecipe = .root) throws {
        rootKey = P384.Signing.PrivateKey()
        root = try Self.makeRoot(key: rootKey, now: now, recipe: rootRecipe)
        (intermediate, intermediateKey) = try Self.makeIntermediate(root: root, rootKey: rootKey, now: now)
        (leaf, leafKey) = try Self.makeLeaf(intermediate: intermediate, key: intermediateKey, now: now)
    }

    /// The same authority with a new leaf.
    func replacingLeaf(now: Date) throws -> CertificateAuthority {
        let (leaf, leafKey) = try Self.makeLeaf(intermediate: intermediate, key: intermediateKey, now: now)
        return CertificateAuthority(
            root: root, rootKey: rootKey, intermediate: intermediate, intermediateKey: intermediateKey, leaf: leaf,
            leafKey: leafKey)
    }

    /// A chain whose leaf is another: with other extensions, or valid at another time.
    func chain(replacingLeaf recipe: CertificateRecipe, now: Date) throws -> Chain {
        let (leaf, leafKey) = try Self.makeLeaf(
            intermediate: intermediate, key: intermediateKey, now: now, recipe: recipe)
        return Chain(leaf: leaf, intermediate: intermediate, root: root, leafKey: leafKey)
    }

    /// A chain whose intermediate is another, and below it a leaf like ours.
    func chain(replacingIntermediate recipe: CertificateRecipe, now: Date) throws -> Chain {
        let (intermediate, key) = try Self.makeIntermediate(root: root, rootKey: rootKey, now: now, recipe: recipe)
        let (leaf, leafKey) = try Self.makeLeaf(intermediate: intermediate, key: key, now: now)
        return Chain(leaf: leaf, intermediate: intermediate, root: root, leafKey: leafKey)
    }

    /// A certificate in DER.
    static func encoded(_ certificate: Certificate) throws -> [UInt8] {
        var serializer = DER.Serializer()
        try serializer.serialize(certificate)
        return serializer.serializedBytes
    }

    /// A certificate's SHA-256 in lower-case hexadecimal.
    static func fingerprint(of certificate: Certificate) throws -> String {
        SHA256.hash(data: try encoded(certificate)).map { byte in
            let digits = String(byte, radix: 16)
            return digits.count == 1 ? "0" + digits : digits
        }.joined()
    }

    private static func makeRoot(
        key: P384.Signing.PrivateKey, now: Date, recipe: CertificateRecipe
    ) throws -> Certificate {
        let name = try DistinguishedName {
            CommonName("Countersign Simulated Root CA")
            OrganizationalUnitName("Not Apple: development only")
            OrganizationName("Countersign")
        }
        let publicKey = Certificate.PublicKey(key.publicKey)
        let extensions = try recipe.extensions(of: publicKey, issuedBy: publicKey)
        return try Certificate(
            version: .v3, serialNumber: .init(), publicKey: publicKey, notValidBefore: now - day,
            notValidAfter: now + 25 * 365 * day, issuer: name, subject: name, signatureAlgorithm: .ecdsaWithSHA384,
            extensions: extensions, issuerPrivateKey: .init(key))
    }

    private static func makeIntermediate(
        root: Certificate, rootKey: P384.Signing.PrivateKey, now: Date, recipe: CertificateRecipe = .intermediate
    ) throws -> (Certificate, P384.Signing.PrivateKey) {
        let key = P384.Signing.PrivateKey()
        let name = try DistinguishedName {
            CommonName("Countersign Simulated Developer Relations CA")
            OrganizationalUnitName("Not Apple: development only")
            OrganizationName("Countersign")
        }
        let publicKey = Certificate.PublicKey(key.publicKey)
        let certificate = try Certificate(
            version: .v3, serialNumber: .init(), publicKey: publicKey,
            notValidBefore: recipe.notValidBefore ?? now - day,
            notValidAfter: recipe.notValidAfter ?? now + 15 * 365 * day, issuer: root.subject, subject: name,
            signatureAlgorithm: .ecdsaWithSHA384,
            extensions: try recipe.extensions(of: publicKey, issuedBy: root.publicKey),
            issuerPrivateKey: .init(rootKey))
        return (certificate, key)
    }

    private static func makeLeaf(
        intermediate: Certificate, key: P384.Signing.PrivateKey, now: Date, recipe: CertificateRecipe = .leaf
    ) throws -> (Certificate, P256.Signing.PrivateKey) {
        let leafKey = P256.Signing.PrivateKey()
        let name = try DistinguishedName {
            CommonName("Countersign Simulated Store Receipt Signing")
            OrganizationalUnitName("Not Apple: development only")
            OrganizationName("Countersign")
        }
        let publicKey = Certificate.PublicKey(leafKey.publicKey)
        let certificate = try Certificate(
            version: .v3, serialNumber: .init(), publicKey: publicKey,
            notValidBefore: recipe.notValidBefore ?? now - day,
            notValidAfter: recipe.notValidAfter ?? now + 5 * 365 * day, issuer: intermediate.subject, subject: name,
            signatureAlgorithm: .ecdsaWithSHA384,
            extensions: try recipe.extensions(of: publicKey, issuedBy: intermediate.publicKey),
            issuerPrivateKey: .init(key))
        return (certificate, leafKey)
    }
}
