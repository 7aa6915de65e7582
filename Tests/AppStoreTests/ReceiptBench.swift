import AppStore
import Crypto
import CryptoExtras
import Foundation
import SwiftASN1
import X509

@testable import AppStoreSimulator

/// Makes receipts that are good but for one thing, under an authority of the tests' own.
struct ReceiptBench {
    static let now = Date(timeIntervalSince1970: 1_790_000_000)
    static let app = AppIdentity(bundleId: "com.example.game")
    /// Made once: RSA keys cost time.
    static let shared: ReceiptBench? = try? ReceiptBench()

    /// How a receipt is signed.
    struct Recipe {
        enum Digest { case sha1, sha256 }

        var digest = Digest.sha256
        /// What the signer calls its digest, when that is not the digest.
        var digestName: ASN1ObjectIdentifier?
        var signatureName: ASN1ObjectIdentifier = [1, 2, 840, 113549, 1, 1, 1]
        /// Each in DER, given the content's digest; nil for no signed attributes.
        var signedAttributes: (([UInt8]) -> [[UInt8]])?
        var key: _RSA.Signing.PrivateKey
        /// Whom the signer's name names.
        var signer: Certificate
        /// In DER; nil leaves the whole list out.
        var certificates: [[UInt8]]?
        var signers = 1
    }

    let authority: ReceiptAuthority
    /// Another one, whose certificates have the same names.
    let other: ReceiptAuthority
    let roots: TrustedRoots

    init() throws {
        authority = try ReceiptAuthority(now: Self.now)
        other = try ReceiptAuthority(now: Self.now)
        roots = try TrustedRoots(fingerprints: [
            SHA256.hash(data: try authority.encodedRoot).map { String(format: "%02x", $0) }.joined()
        ])
    }

    /// A verifier that has not seen anything yet.
    var verifier: ReceiptVerifier { ReceiptVerifier(roots: roots) }

    /// Leaf, intermediate and root in DER.
    static func chain(_ authority: ReceiptAuthority) throws -> [[UInt8]] {
        try [authority.leaf, authority.intermediate, authority.root].map {
            try ReceiptAuthority.encoded($0.certificate)
        }
    }

    func recipe() throws -> Recipe {
        Recipe(
            key: authority.leaf.key, signer: authority.leaf.certificate, certificates: try Self.chain(authority))
    }

    static func contents(
        purchases: Int = 3, change: (inout ReceiptContents) -> Void = { _ in }
    ) throws -> ReceiptContents {
        let created = Int64(now.timeIntervalSince1970) * 1_000
        var contents = ReceiptContents(
            environment: .production, platform: "iOS", bundleId: app.bundleId, applicationVersion: "1.0.5",
            originalApplicationVersion: "1.0", creationDate: created, originalPurchaseDate: created - 1_000,
            appItemId: 497_799_835, downloadId: 30_015_324_719_813, versionExternalIdentifier: 813_293_765,
            vendorIdentifier: UUID(), accountId: "alice",
            inAppPurchases: (0..<purchases).map { purchase("200000000000\(1_000 + $0)", at: created) })
        change(&contents)
        return contents
    }

    static func purchase(_ id: String, at date: Int64) -> ReceiptContents.InAppPurchase {
        .init(
            quantity: 2, productId: "coins.100", transactionId: id, originalTransactionId: id, purchaseDate: date,
            originalPurchaseDate: date - 2_000, kind: .autoRenewableSubscription, expiresDate: date + 3_000,
            cancellationDate: date + 1_000, productItemId: 77, webOrderLineItemId: 88, isTrialPeriod: true,
            isInIntroOfferPeriod: false, promotionalOfferId: "spring")
    }

    /// A certificate made anew for one of the authority's keys.
    func certificate(
        _ change: (inout CertificateRecipe) -> Void, isLeaf: Bool,
        algorithm: Certificate.SignatureAlgorithm = .sha256WithRSAEncryption
    ) throws -> Certificate {
        let subject = isLeaf ? authority.leaf : authority.intermediate
        let issuer = isLeaf ? authority.intermediate : authority.root
        var recipe: CertificateRecipe = isLeaf ? .leaf : .intermediate
        change(&recipe)
        return try Certificate(
            version: .v3, serialNumber: subject.certificate.serialNumber, publicKey: subject.certificate.publicKey,
            notValidBefore: recipe.notValidBefore ?? subject.certificate.notValidBefore,
            notValidAfter: recipe.notValidAfter ?? subject.certificate.notValidAfter,
            issuer: subject.certificate.issuer, subject: subject.certificate.subject, signatureAlgorithm: algorithm,
            extensions: try recipe.extensions(
                of: subject.certificate.publicKey, issuedBy: issuer.certificate.publicKey),
            issuerPrivateKey: .init(issuer.key))
    }

    /// What the verifier says of a good content under a recipe.
    func rejectionOfRecipe(_ change: (inout Recipe) throws -> Void) throws -> RejectionCode? {
        var recipe = try recipe()
        try change(&recipe)
        return rejection(verifier.receipt(try Self.sign(try Self.contents().encoded(), recipe), app: Self.app))
    }

    /// What the verifier says of a content that is signed well.
    func rejectionOfContent(_ content: [UInt8]) throws -> RejectionCode? {
        rejection(verifier.receipt(try authority.signer.sign(content), app: Self.app))
    }

    // MARK: PKCS #7, written apart from the simulator's signer

    static func value(_ tag: UInt8, _ parts: [UInt8]...) -> [UInt8] {
        let content = Array(parts.joined())
        if content.count < 0x80 { return [tag, UInt8(content.count)] + content }
        var size: [UInt8] = []
        var rest = content.count
        while rest > 0 {
            size.insert(UInt8(rest & 0xFF), at: 0)
            rest >>= 8
        }
        return [tag, 0x80 | UInt8(size.count)] + size + content
    }

    static func name(_ name: ASN1ObjectIdentifier) throws -> [UInt8] {
        var serializer = DER.Serializer()
        try serializer.serialize(name)
        return serializer.serializedBytes
    }

    private static func algorithm(_ identifier: ASN1ObjectIdentifier) throws -> [UInt8] {
        value(0x30, try name(identifier), [5, 0])
    }

    static func sign(_ content: [UInt8], _ recipe: Recipe) throws -> [UInt8] {
        let digestName: ASN1ObjectIdentifier =
            recipe.digest == .sha1 ? [1, 3, 14, 3, 2, 26] : [2, 16, 840, 1, 101, 3, 4, 2, 1]
        let digestAlgorithm = try algorithm(recipe.digestName ?? digestName)
        let contentDigest =
            recipe.digest == .sha1 ? Array(Insecure.SHA1.hash(data: content)) : Array(SHA256.hash(data: content))
        let attributes = recipe.signedAttributes.map { Array($0(contentDigest).joined()) }
        let signed = attributes.map { value(0x31, $0) } ?? content
        let signature =
            recipe.digest == .sha1
            ? try recipe.key.signature(for: Insecure.SHA1.hash(data: signed), padding: .insecurePKCS1v1_5)
            : try recipe.key.signature(for: SHA256.hash(data: signed), padding: .insecurePKCS1v1_5)
        var issuerAndNumber = DER.Serializer()
        try issuerAndNumber.serialize(recipe.signer.issuer)
        try issuerAndNumber.serialize(recipe.signer.serialNumber.bytes)
        let signer = value(
            0x30, [2, 1, 1], value(0x30, issuerAndNumber.serializedBytes), digestAlgorithm,
            attributes.map { value(0xA0, $0) } ?? [], try algorithm(recipe.signatureName),
            value(0x04, Array(signature.rawRepresentation)))
        let signers = (0..<recipe.signers).flatMap { _ in signer }
        let encapsulated = value(0x30, try name([1, 2, 840, 113549, 1, 7, 1]), value(0xA0, value(0x04, content)))
        let certificates = recipe.certificates.map { value(0xA0, Array($0.joined())) } ?? []
        let signedData = value(
            0x30, [2, 1, 1], value(0x31, digestAlgorithm), encapsulated, certificates, value(0x31, signers))
        return value(0x30, try name([1, 2, 840, 113549, 1, 7, 2]), value(0xA0, signedData))
    }
}
