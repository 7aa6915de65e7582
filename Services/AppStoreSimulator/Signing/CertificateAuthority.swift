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

    let root: Certificate
    let rootKey: P384.Signing.PrivateKey
    let intermediate: Certificate
    let intermediateKey: P384.Signing.PrivateKey
    let leaf: Certificate
    let leafKey: P256.Signing.PrivateKey

    /// The chain that signs what is sold.
    var chain: Chain { Chain(leaf: leaf, intermediate: intermediate, root: root, leafKey: leafKey) }

    /// Where leaf and intermediate say that their revocation can be asked about; nil when they do not say.
    var ocspURL: String? { Self.ocspURL(of: leaf) }

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

    /// Makes new keys and certificates.
    ///
    /// - Parameters:
    ///   - now: they expire so many years after it; see ``Validity``.
    ///   - names: nil for names that say what they are.
    ///   - ocspURL: what leaf and intermediate name as their OCSP responder.
    init(
        now: Date, rootRecipe: CertificateRecipe = .root, names: CertificateNames? = nil, ocspURL: String? = nil
    ) throws {
        let names = try names ?? .simulated
        rootKey = P384.Signing.PrivateKey()
        intermediateKey = P384.Signing.PrivateKey()
        leafKey = P256.Signing.PrivateKey()
        root = try Self.makeRoot(key: rootKey, name: names.root, now: now, recipe: rootRecipe)
        intermediate = try Self.makeIntermediate(
            key: intermediateKey, name: names.intermediate, root: root, rootKey: rootKey, now: now,
            recipe: CertificateRecipe.intermediate.naming(ocspURL))
        leaf = try Self.makeLeaf(
            key: leafKey, name: names.leaf, issuer: intermediate, issuerKey: intermediateKey, now: now,
            recipe: CertificateRecipe.leaf.naming(ocspURL))
    }

    /// The same authority with an intermediate and a leaf that are valid for longer, or name another OCSP responder; the
    /// keys and the names stay, so that what was signed before stays good.
    func reissued(now: Date, ocspURL: String?) throws -> CertificateAuthority {
        let intermediate = try Self.makeIntermediate(
            key: intermediateKey, name: intermediate.subject, root: root, rootKey: rootKey, now: now,
            recipe: CertificateRecipe.intermediate.naming(ocspURL))
        let leaf = try Self.makeLeaf(
            key: leafKey, name: leaf.subject, issuer: intermediate, issuerKey: intermediateKey, now: now,
            recipe: CertificateRecipe.leaf.naming(ocspURL))
        return CertificateAuthority(
            root: root, rootKey: rootKey, intermediate: intermediate, intermediateKey: intermediateKey, leaf: leaf,
            leafKey: leafKey)
    }

    /// A chain whose leaf is another: with other extensions, or valid at another time.
    func chain(replacingLeaf recipe: CertificateRecipe, now: Date) throws -> Chain {
        let key = P256.Signing.PrivateKey()
        let leaf = try Self.makeLeaf(
            key: key, name: leaf.subject, issuer: intermediate, issuerKey: intermediateKey, now: now,
            recipe: recipe.naming(ocspURL))
        return Chain(leaf: leaf, intermediate: intermediate, root: root, leafKey: key)
    }

    /// A chain whose intermediate is another, and below it a leaf like ours.
    func chain(
        replacingIntermediate recipe: CertificateRecipe, leaf leafRecipe: CertificateRecipe = .leaf, now: Date
    ) throws -> Chain {
        let key = P384.Signing.PrivateKey()
        let leafKey = P256.Signing.PrivateKey()
        let intermediate = try Self.makeIntermediate(
            key: key, name: intermediate.subject, root: root, rootKey: rootKey, now: now,
            recipe: recipe.naming(ocspURL))
        let leaf = try Self.makeLeaf(
            key: leafKey, name: leaf.subject, issuer: intermediate, issuerKey: key, now: now,
            recipe: leafRecipe.naming(ocspURL))
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

    /// The OCSP responder that a certificate names in its Authority Information Access (RFC 5280, section 4.2.2.1).
    static func ocspURL(of certificate: Certificate) -> String? {
        guard let access = try? certificate.extensions.authorityInformationAccess else { return nil }
        for description in access where description.method == .ocspServer {
            if case .uniformResourceIdentifier(let url) = description.location { return url }
        }
        return nil
    }
}
