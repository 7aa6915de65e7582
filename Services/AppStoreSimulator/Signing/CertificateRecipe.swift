import Foundation
import SwiftASN1
import X509

/// What a certificate of ours says of itself; the forgeries differ from the genuine ones in one thing each.
struct CertificateRecipe: Sendable {
    /// Whether it may issue certificates.
    var isAuthority: Bool
    /// How many intermediates may lie below it; nil for any number.
    var pathLengthMaximum: Int?
    /// Whether its key usage says what an authority's, or a signer's, says.
    var hasProperKeyUsage = true
    /// Apple's mark, if it has one.
    var marker: ASN1ObjectIdentifier?
    /// A critical extension that nobody knows.
    var hasUnknownCriticalExtension = false
    /// When it becomes valid; nil for 2015.
    var notValidBefore: Date?
    /// When it expires; nil for years from now.
    var notValidAfter: Date?
    /// Its OCSP responder, if it names one.
    var ocspURL: String?

    static let root = CertificateRecipe(isAuthority: true)
    static let intermediate = CertificateRecipe(
        isAuthority: true, pathLengthMaximum: 0, marker: CertificateAuthority.intermediateMarker)
    static let leaf = CertificateRecipe(isAuthority: false, marker: CertificateAuthority.leafMarker)

    private static let unknownExtension: ASN1ObjectIdentifier = [1, 3, 6, 1, 4, 1, 99999, 1]
    /// ASN.1 NULL, which is what Apple's markers hold.
    private static let null: ArraySlice<UInt8> = [0x05, 0x00]

    /// The same with an OCSP responder.
    func naming(_ ocspURL: String?) -> CertificateRecipe {
        var recipe = self
        recipe.ocspURL = recipe.ocspURL ?? ocspURL
        return recipe
    }

    func extensions(
        of key: Certificate.PublicKey, issuedBy issuer: Certificate.PublicKey
    ) throws -> Certificate.Extensions {
        var extensions = Certificate.Extensions()
        let constraints: BasicConstraints =
            isAuthority
            ? .isCertificateAuthority(maxPathLength: pathLengthMaximum) : .notCertificateAuthority
        let signsCertificates = isAuthority == hasProperKeyUsage
        let usage = KeyUsage(
            digitalSignature: !signsCertificates, keyCertSign: signsCertificates, cRLSign: signsCertificates)
        try extensions.append(try Certificate.Extension(constraints, critical: true))
        try extensions.append(try Certificate.Extension(usage, critical: true))
        let identifier = SubjectKeyIdentifier(hash: key)
        let issuerIdentifier = SubjectKeyIdentifier(hash: issuer).keyIdentifier
        try extensions.append(try Certificate.Extension(identifier, critical: false))
        try extensions.append(
            try Certificate.Extension(AuthorityKeyIdentifier(keyIdentifier: issuerIdentifier), critical: false))
        if let ocspURL {
            let access = AuthorityInformationAccess([
                .init(method: .ocspServer, location: .uniformResourceIdentifier(ocspURL))
            ])
            try extensions.append(try Certificate.Extension(access, critical: false))
        }
        if let marker { try extensions.append(Certificate.Extension(oid: marker, critical: false, value: Self.null)) }
        if hasUnknownCriticalExtension {
            try extensions.append(Certificate.Extension(oid: Self.unknownExtension, critical: true, value: Self.null))
        }
        return extensions
    }
}
