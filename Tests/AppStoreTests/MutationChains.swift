import AppStore
import Crypto
import Foundation
import SwiftASN1
import X509

@testable import AppStoreSimulator

/// Certificates issued anew by the simulator's authority, each with one thing changed: what only the authority could do.
extension MutationGenerator {
    /// A certificate's extensions, changed.
    private typealias Change = (inout Certificate.Extensions) throws -> Void

    mutating func addChains() throws {
        let base = try base("consumable")
        for (name, change) in Self.extensionChanges {
            for isLeaf in [true, false] {
                add(
                    base, .chain, "\(isLeaf ? "leaf" : "intermediate"): \(name)",
                    try signedByChain(base, isLeaf: isLeaf, change))
            }
        }
        let recipes: [(String, (inout CertificateRecipe) -> Void)] = [
            ("as before", { _ in }), ("no marker", { $0.marker = nil }),
            ("the leaf's marker", { $0.marker = CertificateAuthority.leafMarker }),
            ("the intermediate's marker", { $0.marker = CertificateAuthority.intermediateMarker }),
            ("another key usage", { $0.hasProperKeyUsage = false }), ("a path length", { $0.pathLengthMaximum = 5 }),
            ("an unknown critical extension", { $0.hasUnknownCriticalExtension = true }),
            (
                "the other authority",
                {
                    $0.isAuthority.toggle()
                    $0.hasProperKeyUsage.toggle()
                }
            ),
            ("an authority with its key usage", { $0.isAuthority.toggle() }),
        ]
        for (name, change) in recipes {
            for isLeaf in [true, false] {
                let chain = try chain(isLeaf: isLeaf, change)
                add(base, .chain, "\(isLeaf ? "leaf" : "intermediate"): \(name)", try signed(base, by: chain))
            }
        }
    }

    /// A leaf or an intermediate that begins or ends within a second of the signing, or so.
    mutating func addValidity() throws {
        let base = try base("consumable")
        let second = Int64(SimulatedStore.now.timeIntervalSince1970)
        for isLeaf in [true, false] {
            for offset in [-86_400, -1, 0, 1, 86_400] as [Int64] {
                let date = Date(timeIntervalSince1970: Double(second + offset))
                for (name, change) in [
                    ("ends", { (recipe: inout CertificateRecipe) in recipe.notValidAfter = date }),
                    ("begins", { (recipe: inout CertificateRecipe) in recipe.notValidBefore = date }),
                ] {
                    let chain = try chain(isLeaf: isLeaf, change)
                    for fraction in [0, 1, 500, 999] as [Int64] {
                        let payload = SimulatedStore.payload(["signedDate": "\(second * 1_000 + fraction)"])
                        add(
                            base, .validity,
                            "\(isLeaf ? "leaf" : "intermediate") \(name) at \(offset) s, signed at 0.\(fraction) s",
                            try signed(base, by: chain, payload: payload))
                    }
                }
            }
        }
    }

    private func chain(
        isLeaf: Bool, _ change: (inout CertificateRecipe) -> Void
    ) throws -> CertificateAuthority.Chain {
        var recipe: CertificateRecipe = isLeaf ? .leaf : .intermediate
        change(&recipe)
        return isLeaf
            ? try store.authority.chain(replacingLeaf: recipe, now: SimulatedStore.now)
            : try store.authority.chain(replacingIntermediate: recipe, now: SimulatedStore.now)
    }

    private func signed(
        _ base: MutationBase, by chain: CertificateAuthority.Chain, payload: String? = nil
    ) throws -> [UInt8] {
        Array(try PayloadSigner(chain: chain).sign(payload ?? base.payload).utf8)
    }

    // MARK: Extensions

    private static var extensionChanges: [(String, Change)] {
        [
            ("no authority key identifier", { $0.drop(.X509ExtensionID.authorityKeyIdentifier) }),
            ("no subject key identifier", { $0.drop(.X509ExtensionID.subjectKeyIdentifier) }),
            ("no key usage", { $0.drop(.X509ExtensionID.keyUsage) }),
            ("no basic constraints", { $0.drop(.X509ExtensionID.basicConstraints) }),
            ("basic constraints not critical", { try $0.recast(.X509ExtensionID.basicConstraints, critical: false) }),
            ("key usage not critical", { try $0.recast(.X509ExtensionID.keyUsage, critical: false) }),
            (
                "subject key identifier critical",
                { try $0.recast(.X509ExtensionID.subjectKeyIdentifier, critical: true) }
            ),
            ("the leaf's marker critical", { try $0.recast(CertificateAuthority.leafMarker, critical: true) }),
            (
                "another authority key identifier",
                {
                    $0.drop(.X509ExtensionID.authorityKeyIdentifier)
                    let identifier = AuthorityKeyIdentifier(keyIdentifier: [1, 2, 3, 4])
                    try $0.append(Certificate.Extension(identifier, critical: false))
                }
            ),
            (
                "another subject key identifier",
                {
                    $0.drop(.X509ExtensionID.subjectKeyIdentifier)
                    let identifier = SubjectKeyIdentifier(keyIdentifier: [1, 2, 3, 4])
                    try $0.append(Certificate.Extension(identifier, critical: false))
                }
            ),
            (
                "for web servers",
                { try $0.append(Certificate.Extension(ExtendedKeyUsage([.serverAuth]), critical: false)) }
            ),
            (
                "for web servers, critical",
                { try $0.append(Certificate.Extension(ExtendedKeyUsage([.serverAuth]), critical: true)) }
            ),
            (
                "name constraints, critical",
                {
                    let constraints = NameConstraints(excludedDNSDomains: ["example.com"])
                    try $0.append(Certificate.Extension(constraints, critical: true))
                }
            ),
        ]
    }

    /// The payload under a leaf or an intermediate whose extensions are changed.
    private func signedByChain(_ base: MutationBase, isLeaf: Bool, _ change: Change) throws -> [UInt8] {
        let authority = store.authority
        let (subject, issuer) =
            isLeaf ? (authority.leaf, authority.intermediate) : (authority.intermediate, authority.root)
        var extensions = subject.extensions
        try change(&extensions)
        let certificate = try Certificate(
            version: .v3, serialNumber: subject.serialNumber, publicKey: subject.publicKey,
            notValidBefore: subject.notValidBefore, notValidAfter: subject.notValidAfter, issuer: issuer.subject,
            subject: subject.subject, signatureAlgorithm: .ecdsaWithSHA384, extensions: extensions,
            issuerPrivateKey: .init(isLeaf ? authority.intermediateKey : authority.rootKey))
        let chain = CertificateAuthority.Chain(
            leaf: isLeaf ? certificate : authority.leaf, intermediate: isLeaf ? authority.intermediate : certificate,
            root: authority.root, leafKey: authority.leafKey)
        return try signed(base, by: chain)
    }
}

extension Certificate.Extensions {
    fileprivate mutating func drop(_ oid: ASN1ObjectIdentifier) {
        self = (try? Certificate.Extensions(filter { $0.oid != oid })) ?? self
    }

    /// The same, but critical or not.
    fileprivate mutating func recast(_ oid: ASN1ObjectIdentifier, critical: Bool) throws {
        self = try Certificate.Extensions(
            map { $0.oid == oid ? Certificate.Extension(oid: oid, critical: critical, value: $0.value) : $0 })
    }
}
