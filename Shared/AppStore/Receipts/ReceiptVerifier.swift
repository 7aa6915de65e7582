public import Foundation

/// Proves offline that the App Store signed an app receipt (PKCS #7), and reads it whole.
///
/// As with ``SignedDataVerifier``, there is no network and no clock: the certificates are judged at the receipt's
/// creation date, since most chains that signed receipts have expired. The checks are made in a fixed order, each with a
/// code of its own; a refusal is permanent.
///
/// One verifier serves any number of threads. A chain is judged once and remembered.
public final class ReceiptVerifier: Sendable {
    private enum Limit {
        /// Of base64, one byte in so many may be a line break: lines have 64 letters or 76 (RFC 1421, RFC 2045).
        static let lineBreakShare = 16
    }

    private let roots: TrustedRoots
    private let limits: ReceiptLimits
    private let sha1Until: Date?
    private let cache: ChainCache<VerifiedReceiptChain>

    /// Makes a verifier that trusts chains ending at `roots` and nothing else.
    ///
    /// - Parameter sha1Until: the creation date from which on receipts that are signed over SHA-1 are refused, such as
    ///   ``sha1Ended``; nil refuses none.
    public init(
        roots: TrustedRoots, limits: ReceiptLimits = .default, sha1Until: Date? = nil
    ) {
        self.roots = roots
        self.limits = limits
        self.sha1Until = sha1Until
        self.cache = ChainCache(capacity: limits.chainsCachedMaximum)
    }

    /// 2025-07-01, half a year after Apple ended SHA-1: until 2025-01-24 it signed receipts in the App Store with it (TN3138).
    ///
    /// That no receipt of later is signed so is an assumption: of the genuine ones at hand the last with SHA-1 is of
    /// 2023-03-31.
    public static let sha1Ended = Date(timeIntervalSince1970: 1_751_328_000)

    /// How many verified chains are remembered now.
    public var chainsCached: Int { cache.count }

    /// Verifies an app receipt.
    ///
    /// - Parameters:
    ///   - receipt: the file at `appStoreReceiptURL`: its bytes (DER), or these in base64, with line breaks or without.
    ///   - app: whose receipt it must be; its `bundleId` is compared exactly.
    /// - Returns: the receipt, or the first check that failed. A receipt without purchases is not refused.
    public func receipt(_ receipt: [UInt8], app: AppIdentity) -> Result<AppReceipt, SignedDataRejection> {
        do {
            return .success(try verify(receipt, app: app))
        } catch {
            return .failure(error)
        }
    }

    private func verify(_ receipt: [UInt8], app: AppIdentity) throws(SignedDataRejection) -> AppReceipt {
        let encoded = try decoded(receipt)
        guard !Self.isIndefinite(encoded) else {
            throw SignedDataRejection(.receiptXcode, "BER of indefinite length, as StoreKit Testing in Xcode makes it")
        }
        let signed = try SignedReceipt(encoded, limits: limits)
        let unproven = try unproven(signed)
        guard !unproven.isFromXcode else {
            // It is refused either way; this says what a developer has to know.
            throw SignedDataRejection(.receiptXcode, "the receipt type is Xcode")
        }
        if let sha1Until, signed.signer.digest == .sha1, unproven.creationDate >= sha1Until {
            throw SignedDataRejection(.sha1Ended, "signed over SHA-1 after Apple ended that")
        }
        let validity = try checkSignature(signed, at: unproven.creationDate)
        return try AppReceipt(
            signed, creationDate: unproven.creationDate, certificatesExpire: validity.until, app: app)
    }

    /// Reads what nobody has vouched for yet; what cannot be read is told apart from a forgery by its signature.
    private func unproven(_ signed: SignedReceipt) throws(SignedDataRejection) -> UnprovenReceipt {
        do {
            return try UnprovenReceipt(signed, limits: limits)
        } catch {
            let isUnread = error.code == .payloadInvalid || error.code == .signedDateMissing
            guard isUnread, (try? checkSignature(signed, at: nil)) != nil else { throw error }
            throw SignedDataRejection(.payloadUnreadable, error.detail)
        }
    }

    /// The receipt in DER.
    ///
    /// An ASN.1 sequence begins with the letter "0", its base64 with "M".
    private func decoded(_ receipt: [UInt8]) throws(SignedDataRejection) -> [UInt8] {
        let tooLarge = SignedDataRejection(.payloadTooLarge, "more than \(limits.receiptBytesMaximum) bytes")
        if receipt.first == DERWalk.Tag.sequence {
            guard receipt.count <= limits.receiptBytesMaximum else { throw tooLarge }
            return receipt
        }
        let lettersMaximum = (limits.receiptBytesMaximum + 2) / 3 * 4
        guard receipt.count <= lettersMaximum + lettersMaximum / Limit.lineBreakShare else { throw tooLarge }
        guard
            let decoded = Base64Decoding.padded(receipt[...]) ?? Base64Decoding.padded(Self.withoutBreaks(receipt)[...])
        else { throw SignedDataRejection(.notAReceipt, "neither DER nor base64") }
        guard decoded.count <= limits.receiptBytesMaximum else { throw tooLarge }
        return decoded
    }

    private static func withoutBreaks(_ text: [UInt8]) -> [UInt8] {
        text.filter { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
    }

    /// Whether the outermost value's end is only found by its mark (X.690, section 8.1.3.6).
    private static func isIndefinite(_ bytes: [UInt8]) -> Bool {
        bytes.count >= 2 && bytes[0] == DERWalk.Tag.sequence && bytes[1] == 0x80
    }

    /// Finds the signer and the way up from it, and judges both.
    ///
    /// - Parameter date: when the chain must be valid, the receipt's creation date; nil where that cannot be read.
    /// - Returns: when the chain is valid.
    private func checkSignature(
        _ signed: SignedReceipt, at date: Date?
    ) throws(SignedDataRejection) -> ChainValidity {
        guard let leaf = ReceiptPath.signer(of: signed) else {
            throw SignedDataRejection(.signerMissing, "the signer's certificate is not in the receipt")
        }
        var first: SignedDataRejection?
        for path in ReceiptPath.paths(from: leaf, in: signed) {
            do {
                return try checkSignature(signed, path, at: date)
            } catch {
                first = first ?? error
            }
        }
        throw first ?? SignedDataRejection(.chainInvalid, "the receipt lacks the certificates above the signer's")
    }

    private func checkSignature(
        _ signed: SignedReceipt, _ path: ReceiptPath, at date: Date?
    ) throws(SignedDataRejection) -> ChainValidity {
        let certificates = path.certificates(of: signed)
        let joined = Array(certificates.joined())
        if let known = cache.chain(for: joined[...]) {
            if let date { try known.validity.check(at: date) }
            try known.checkSignature(of: signed)
            return known.validity
        }
        let chain = try CertificateChain(certificates, roots: roots, purpose: .receipt)
        try chain.checkPath()
        if let date { try chain.validity.check(at: date) }
        try chain.checkMarkers()
        guard let verified = chain.verifiedForReceipts(encoded: joined) else {
            throw SignedDataRejection(.chainInvalid, "the signer has no RSA key")
        }
        try verified.checkSignature(of: signed)
        cache.insert(verified)
        return verified.validity
    }
}
