import Crypto
import Foundation
import SwiftASN1
import X509

/// A root, an intermediate and a leaf of the tests' own, and whatever else those issue.
struct Authority {
    /// A certificate with its key.
    struct Member {
        let certificate: Certificate
        let key: P384.Signing.PrivateKey

        var encoded: [UInt8] { get throws { try Authority.encoded(certificate) } }
    }

    /// What a certificate says of itself.
    struct Recipe {
        var usages: [ExtendedKeyUsage.Usage] = []
        var isAuthority = false
        var keyUsage: KeyUsage?
        var locations: [String] = []
        /// What is at those.
        var access = AuthorityInformationAccess.AccessDescription.AccessMethod.ocspServer
        var criticalExtension: ASN1ObjectIdentifier?
        var notValidBefore: Date?
        var notValidAfter: Date?
    }

    /// The time of all tests here: whole seconds, as certificates have them.
    static let now = Date(timeIntervalSince1970: 1_790_000_000)
    /// Made once: keys cost time.
    static let shared = try? Authority()

    let root: Member
    let intermediate: Member
    let leaf: Member

    init(locations: [String] = []) throws {
        let rootKey = P384.Signing.PrivateKey()
        let rootName = try Self.name("Root")
        root = Member(
            certificate: try Self.issue(
                rootName, key: .init(rootKey.publicKey), by: rootName, signer: rootKey,
                recipe: Recipe(isAuthority: true)),
            key: rootKey)
        intermediate = try Self.member(
            "Intermediate", issuer: root, recipe: Recipe(isAuthority: true, locations: locations))
        leaf = try Self.member("Leaf", issuer: intermediate, recipe: Recipe(locations: locations))
    }

    init(root: Member, intermediate: Member, leaf: Member) {
        self.root = root
        self.intermediate = intermediate
        self.leaf = leaf
    }

    /// Leaf, intermediate and root in DER.
    var chain: [[UInt8]] {
        get throws { [try leaf.encoded, try intermediate.encoded, try root.encoded] }
    }

    static func encoded(_ certificate: Certificate) throws -> [UInt8] {
        var serializer = DER.Serializer()
        try serializer.serialize(certificate)
        return serializer.serializedBytes
    }

    /// Issues a certificate for a new key.
    static func member(_ commonName: String, issuer: Member, recipe: Recipe = Recipe()) throws -> Member {
        let key = P384.Signing.PrivateKey()
        let certificate = try issue(
            try name(commonName), key: .init(key.publicKey), by: issuer.certificate.subject, signer: issuer.key,
            recipe: recipe)
        return Member(certificate: certificate, key: key)
    }

    static func name(_ commonName: String) throws -> DistinguishedName {
        try DistinguishedName { CommonName(commonName) }
    }

    static func issue(
        _ subject: DistinguishedName, key: Certificate.PublicKey, by issuer: DistinguishedName,
        signer: P384.Signing.PrivateKey, recipe: Recipe
    ) throws -> Certificate {
        var extensions = Certificate.Extensions()
        let constraints: BasicConstraints =
            recipe.isAuthority ? .isCertificateAuthority(maxPathLength: nil) : .notCertificateAuthority
        try extensions.append(try Certificate.Extension(constraints, critical: true))
        if !recipe.usages.isEmpty {
            try extensions.append(try Certificate.Extension(ExtendedKeyUsage(recipe.usages), critical: true))
        }
        if let usage = recipe.keyUsage { try extensions.append(try Certificate.Extension(usage, critical: true)) }
        if !recipe.locations.isEmpty {
            let access = AuthorityInformationAccess(
                recipe.locations.map { .init(method: recipe.access, location: .uniformResourceIdentifier($0)) })
            try extensions.append(try Certificate.Extension(access, critical: false))
        }
        if let identifier = recipe.criticalExtension {
            try extensions.append(Certificate.Extension(oid: identifier, critical: true, value: [0x05, 0x00]))
        }
        return try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: key,
            notValidBefore: recipe.notValidBefore ?? now - 1_000_000, notValidAfter: recipe.notValidAfter ?? now + 1e8,
            issuer: issuer, subject: subject, signatureAlgorithm: .ecdsaWithSHA384, extensions: extensions,
            issuerPrivateKey: Certificate.PrivateKey(signer))
    }
}
