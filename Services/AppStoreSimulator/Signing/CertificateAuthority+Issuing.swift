import Crypto
import Foundation
import X509

/// From when and for how long certificates are valid: the store's clock may stand between 2016 and eight years ahead.
enum Validity {
    private static let year: TimeInterval = 365 * 86_400

    /// 2015-01-01.
    static let from = Date(timeIntervalSince1970: 1_420_070_400)
    /// Seconds from their making on.
    static let root = 25 * year
    static let intermediate = 15 * year
    static let leaf = 10 * year
}

/// The names of the three certificates of a chain.
struct CertificateNames: Sendable {
    let root: DistinguishedName
    let intermediate: DistinguishedName
    let leaf: DistinguishedName

    /// Ours, which say what they are.
    static var simulated: CertificateNames {
        get throws {
            func name(_ commonName: String) throws -> DistinguishedName {
                try DistinguishedName {
                    CommonName(commonName)
                    OrganizationalUnitName("Not Apple: development only")
                    OrganizationName("Countersign")
                }
            }
            return CertificateNames(
                root: try name("Countersign Simulated Root CA"),
                intermediate: try name("Countersign Simulated Developer Relations CA"),
                leaf: try name("Countersign Simulated Store Receipt Signing"))
        }
    }
}

extension CertificateAuthority {
    static func makeRoot(
        key: P384.Signing.PrivateKey, name: DistinguishedName, now: Date, recipe: CertificateRecipe
    ) throws -> Certificate {
        let publicKey = Certificate.PublicKey(key.publicKey)
        return try Certificate(
            version: .v3, serialNumber: .init(), publicKey: publicKey,
            notValidBefore: recipe.notValidBefore ?? Validity.from,
            notValidAfter: recipe.notValidAfter ?? now + Validity.root, issuer: name, subject: name,
            signatureAlgorithm: .ecdsaWithSHA384,
            extensions: try recipe.extensions(of: publicKey, issuedBy: publicKey), issuerPrivateKey: .init(key))
    }

    static func makeIntermediate(
        key: P384.Signing.PrivateKey, name: DistinguishedName, root: Certificate, rootKey: P384.Signing.PrivateKey,
        now: Date, recipe: CertificateRecipe
    ) throws -> Certificate {
        let publicKey = Certificate.PublicKey(key.publicKey)
        return try Certificate(
            version: .v3, serialNumber: .init(), publicKey: publicKey,
            notValidBefore: recipe.notValidBefore ?? Validity.from,
            notValidAfter: recipe.notValidAfter ?? now + Validity.intermediate, issuer: root.subject, subject: name,
            signatureAlgorithm: .ecdsaWithSHA384,
            extensions: try recipe.extensions(of: publicKey, issuedBy: root.publicKey),
            issuerPrivateKey: .init(rootKey))
    }

    static func makeLeaf(
        key: P256.Signing.PrivateKey, name: DistinguishedName, issuer: Certificate,
        issuerKey: P384.Signing.PrivateKey, now: Date, recipe: CertificateRecipe
    ) throws -> Certificate {
        let publicKey = Certificate.PublicKey(key.publicKey)
        return try Certificate(
            version: .v3, serialNumber: .init(), publicKey: publicKey,
            notValidBefore: recipe.notValidBefore ?? Validity.from,
            notValidAfter: recipe.notValidAfter ?? now + Validity.leaf, issuer: issuer.subject, subject: name,
            signatureAlgorithm: .ecdsaWithSHA384,
            extensions: try recipe.extensions(of: publicKey, issuedBy: issuer.publicKey),
            issuerPrivateKey: .init(issuerKey))
    }
}
