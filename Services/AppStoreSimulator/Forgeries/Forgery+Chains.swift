import Crypto
import Foundation
import X509

/// Times that lie outside wherever the store's clock may stand.
enum Instant {
    /// 2015-01-02 and 2015-12-31.
    static let past = Date(timeIntervalSince1970: 1_420_156_800)...Date(timeIntervalSince1970: 1_451_520_000)
    /// 2090-01-01 and 2099-12-31.
    static let future = Date(timeIntervalSince1970: 3_786_912_000)...Date(timeIntervalSince1970: 4_102_358_400)
}

/// Certificates that are not what they should be (apple-facts C6, steps 2 to 4).
extension Forgery {
    static let chains = roots + issuers + authorities + times + markers

    private static let roots = [
        Forgery(
            "self_made_chain", "root_not_trusted",
            "A chain of the attacker's own, with Apple's markers and the names of the genuine one."
        ) { material in
            try material.sign(as: "self_made_chain") { material.stranger.chain }
        },
        Forgery(
            "lookalike_apple_chain", "root_not_trusted",
            "A chain of the attacker's own that calls itself Apple Root CA - G3, with Apple's names and markers."
        ) { material in
            try material.sign(as: "lookalike_apple_chain") {
                try CertificateAuthority(now: material.now, names: .lookalike).chain
            }
        },
        Forgery(
            "foreign_root_genuine_below", "root_not_trusted",
            "The genuine leaf and intermediate, and a root of the same name with the attacker's key."
        ) { material in
            try material.sign(
                as: "foreign_root_genuine_below",
                certificates: {
                    try [$0.leaf, $0.intermediate, material.stranger.root].map(CertificateAuthority.encoded)
                }
            ) { material.authority.chain }
        },
    ]

    private static let issuers = [
        Forgery(
            "genuine_root_foreign_chain", "chain_invalid",
            "The genuine root in x5c above a leaf and an intermediate of the attacker's."
        ) { material in
            try material.sign(
                as: "genuine_root_foreign_chain",
                certificates: {
                    try [$0.leaf, $0.intermediate, material.authority.root].map(CertificateAuthority.encoded)
                }
            ) { material.stranger.chain }
        },
        Forgery(
            "genuine_authorities_foreign_leaf", "chain_invalid",
            "The genuine root and intermediate in x5c above a leaf of the attacker's that names them as its issuer."
        ) { material in
            try material.sign(
                as: "genuine_authorities_foreign_leaf",
                certificates: {
                    try [$0.leaf, material.authority.intermediate, material.authority.root]
                        .map(CertificateAuthority.encoded)
                }
            ) { material.stranger.chain }
        },
        Forgery(
            "leaf_with_swapped_key", "chain_invalid",
            "The genuine leaf with the attacker's public key in it; its signature is the genuine one's."
        ) { material in
            let key = P256.Signing.PrivateKey()
            let genuine = material.authority.chain
            let chain = CertificateAuthority.Chain(
                leaf: genuine.leaf, intermediate: genuine.intermediate, root: genuine.root, leafKey: key)
            return try material.sign(
                as: "leaf_with_swapped_key",
                certificates: { chain in
                    var encoded = try chain.encoded
                    let old = Data(material.authority.leafKey.publicKey.x963Representation)
                    var leaf = Data(encoded[0])
                    if let range = leaf.range(of: old) {
                        leaf.replaceSubrange(range, with: chain.leafKey.publicKey.x963Representation)
                    }
                    encoded[0] = [UInt8](leaf)
                    return encoded
                }
            ) { chain }
        },
        Forgery(
            "leaf_issued_by_leaf", "chain_invalid",
            "A leaf that a genuine leaf's key signed, as if a customer of an authority were one himself."
        ) { material in
            try material.sign(as: "leaf_issued_by_leaf") { try material.chainBelowLeaf() }
        },
        Forgery(
            "swapped_certificates", "chain_invalid",
            "The genuine chain with leaf and intermediate in each other's place."
        ) { material in
            try material.sign(
                as: "swapped_certificates",
                certificates: {
                    let encoded = try $0.encoded
                    return [encoded[1], encoded[0], encoded[2]]
                }
            ) { material.authority.chain }
        },
    ]

    private static let authorities = [
        Forgery(
            "intermediate_not_an_authority", "chain_invalid", "An intermediate that says CA:false; the root signed it."
        ) { material in
            try material.sign(intermediate: "intermediate_not_an_authority") {
                $0.isAuthority = false
                $0.pathLengthMaximum = nil
                $0.hasProperKeyUsage = false
            }
        },
        Forgery(
            "intermediate_may_not_sign_certificates", "chain_invalid",
            "An intermediate whose key usage lacks keyCertSign; the root signed it."
        ) { try $0.sign(intermediate: "intermediate_may_not_sign_certificates") { $0.hasProperKeyUsage = false } },
        Forgery(
            "leaf_is_an_authority", "chain_invalid", "A leaf that says CA:true; the intermediate signed it."
        ) { material in
            try material.sign(leaf: "leaf_is_an_authority") {
                $0.isAuthority = true
                $0.hasProperKeyUsage = false
            }
        },
        Forgery(
            "leaf_may_not_sign_data", "chain_invalid",
            "A leaf whose key usage lacks digitalSignature; the intermediate signed it."
        ) { try $0.sign(leaf: "leaf_may_not_sign_data") { $0.hasProperKeyUsage = false } },
        Forgery(
            "unknown_critical_extension", "chain_invalid",
            "A leaf with a critical extension that nobody knows, which RFC 5280 says to refuse."
        ) { try $0.sign(leaf: "unknown_critical_extension") { $0.hasUnknownCriticalExtension = true } },
        Forgery(
            "path_too_long", "certificate_count",
            "Four certificates: an intermediate below the genuine one, whose path length is 0."
        ) { material in
            let (chain, encoded) = try material.longChain()
            return try material.sign(as: "path_too_long", certificates: { _ in encoded }) { chain }
        },
    ]

    private static let times = [
        Forgery("expired_leaf", "certificate_expired", "A leaf that expired in 2015.") { material in
            try material.sign(leaf: "expired_leaf") {
                $0.notValidBefore = Instant.past.lowerBound
                $0.notValidAfter = Instant.past.upperBound
            }
        },
        Forgery("leaf_not_yet_valid", "certificate_expired", "A leaf that will be valid in 2090.") { material in
            try material.sign(leaf: "leaf_not_yet_valid") {
                $0.notValidBefore = Instant.future.lowerBound
                $0.notValidAfter = Instant.future.upperBound
            }
        },
        Forgery("expired_intermediate", "certificate_expired", "An intermediate that expired in 2015.") { material in
            try material.sign(intermediate: "expired_intermediate") {
                $0.notValidBefore = Instant.past.lowerBound
                $0.notValidAfter = Instant.past.upperBound
            }
        },
        Forgery(
            "intermediate_not_yet_valid", "certificate_expired", "An intermediate that will be valid in 2090."
        ) { material in
            try material.sign(intermediate: "intermediate_not_yet_valid") {
                $0.notValidBefore = Instant.future.lowerBound
                $0.notValidAfter = Instant.future.upperBound
            }
        },
    ]

    private static let markers = [
        Forgery(
            "missing_leaf_marker", "leaf_marker_missing",
            "A leaf of the genuine authority that is for something else: without 1.2.840.113635.100.6.11.1."
        ) { try $0.sign(leaf: "missing_leaf_marker") { $0.marker = nil } },
        Forgery(
            "wrong_leaf_marker", "leaf_marker_missing", "A leaf with the intermediate's marker instead of its own."
        ) { try $0.sign(leaf: "wrong_leaf_marker") { $0.marker = CertificateAuthority.intermediateMarker } },
        Forgery(
            "missing_intermediate_marker", "intermediate_marker_missing",
            "Another authority below the genuine root: without 1.2.840.113635.100.6.2.1."
        ) { try $0.sign(intermediate: "missing_intermediate_marker") { $0.marker = nil } },
        Forgery(
            "wrong_intermediate_marker", "intermediate_marker_missing",
            "An intermediate with the leaf's marker instead of its own."
        ) { try $0.sign(intermediate: "wrong_intermediate_marker") { $0.marker = CertificateAuthority.leafMarker } },
    ]
}

extension ForgeryMaterial {
    /// A chain whose intermediate is a genuine leaf.
    fileprivate func chainBelowLeaf() throws -> CertificateAuthority.Chain {
        let key = P256.Signing.PrivateKey()
        let issuer = authority.leaf
        let publicKey = Certificate.PublicKey(key.publicKey)
        let leaf = try Certificate(
            version: .v3, serialNumber: .init(), publicKey: publicKey, notValidBefore: issuer.notValidBefore,
            notValidAfter: issuer.notValidAfter, issuer: issuer.subject, subject: issuer.subject,
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: try CertificateRecipe.leaf.extensions(of: publicKey, issuedBy: issuer.publicKey),
            issuerPrivateKey: .init(authority.leafKey))
        return CertificateAuthority.Chain(leaf: leaf, intermediate: issuer, root: authority.root, leafKey: key)
    }

    /// An intermediate below the genuine one and its leaf, and the four certificates of that path.
    fileprivate func longChain() throws -> (CertificateAuthority.Chain, [[UInt8]]) {
        let key = P384.Signing.PrivateKey()
        let leafKey = P256.Signing.PrivateKey()
        let below = try CertificateAuthority.makeIntermediate(
            key: key, name: try DistinguishedName { CommonName("Another Developer Relations CA") },
            root: authority.intermediate, rootKey: authority.intermediateKey, now: now, recipe: .intermediate)
        let leaf = try CertificateAuthority.makeLeaf(
            key: leafKey, name: authority.leaf.subject, issuer: below, issuerKey: key, now: now, recipe: .leaf)
        let chain = CertificateAuthority.Chain(
            leaf: leaf, intermediate: below, root: authority.root, leafKey: leafKey)
        return (
            chain, try [leaf, below, authority.intermediate, authority.root].map(CertificateAuthority.encoded)
        )
    }
}

extension CertificateNames {
    /// Apple's names, letter by letter; the keys under them are not Apple's.
    static var lookalike: CertificateNames {
        get throws {
            func name(_ commonName: String, _ unit: String) throws -> DistinguishedName {
                try DistinguishedName {
                    CommonName(commonName)
                    OrganizationalUnitName(unit)
                    OrganizationName("Apple Inc.")
                    CountryName("US")
                }
            }
            return CertificateNames(
                root: try name("Apple Root CA - G3", "Apple Certification Authority"),
                intermediate: try name("Apple Worldwide Developer Relations Certification Authority", "G6"),
                leaf: try name(
                    "Prod ECC Mac App Store and iTunes Store Receipt Signing", "Apple Worldwide Developer Relations"))
        }
    }
}
