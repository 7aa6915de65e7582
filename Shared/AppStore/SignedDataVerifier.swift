public import Foundation
import JSONText
import Synchronization

/// Proves that the App Store signed something, offline and from the data alone.
///
/// The checks are made in a fixed order, each with a code of its own (``RejectionCode``); a refusal is therefore
/// permanent. There is no clock in here: certificates are judged at the payload's `signedDate`, since Apple's leaves
/// expire long before the purchases they signed. Revoked certificates are not looked up.
///
/// One verifier serves any number of threads. A chain is judged once and remembered, so that a further payload costs
/// one P-256 signature and its own parsing: about 0.1 ms.
public final class SignedDataVerifier: Sendable {
    let roots: TrustedRoots
    /// The certificates of Xcode that a development server takes; nil takes none.
    let xcode: TrustedRoots?
    let limits: SignedDataLimits
    /// By the whole header, which costs nothing but a comparison.
    let cache: ChainCache<VerifiedChain>
    /// By the certificates alone, for headers that say something else besides.
    let paths: ChainCache<VerifiedPath>

    /// Makes a verifier that trusts chains ending at `roots` and nothing else.
    ///
    /// - Parameter xcode: certificates under which developers' machines sign the transactions of an app's own tests; whoever
    ///   has such a machine makes purchases. They count as the sandbox's.
    public init(roots: TrustedRoots, xcode: TrustedRoots? = nil, limits: SignedDataLimits = .default) {
        self.roots = roots
        self.xcode = xcode
        self.limits = limits
        self.cache = ChainCache(capacity: limits.chainsCachedMaximum)
        self.paths = ChainCache(capacity: limits.chainsCachedMaximum)
    }

    /// How many verified chains are remembered now.
    public var chainsCached: Int { cache.count }

    /// How many paths of certificates were judged so far, each of which costs as much as a dozen signatures.
    private let judged = Atomic(0)
    var pathsJudged: Int { judged.load(ordering: .relaxed) }

    /// Verifies a signed transaction of an app.
    ///
    /// - Parameters:
    ///   - jws: the compact form, as StoreKit's `jwsRepresentation` or Apple's server gives it.
    ///   - app: whose transaction it must be; its `bundleId` is compared exactly.
    ///   - isAppKnown: whether something else says whose it is, so that a missing `bundleId` is the app's: the key that
    ///     asked Apple, or the signed notification around it.
    /// - Returns: the transaction, or the first check that failed. A transaction without an environment (Apple wrote
    ///   none before 2022) is not refused.
    public func transaction(
        _ jws: [UInt8], app: AppIdentity, isAppKnown: Bool = false
    ) -> Result<SignedTransaction, SignedDataRejection> {
        switch verified(jws) {
        case .success(let content): SignedTransaction.reading(content, app: app, isAppKnown: isAppKnown)
        case .failure(let rejection):
            if rejection.code == .environmentXcode, let content = signedByXcode(jws) {
                SignedTransaction.reading(content, app: app, isAppKnown: isAppKnown)
            } else {
                .failure(rejection)
            }
        }
    }

    /// Verifies the renewal info of a subscription.
    ///
    /// - Parameters:
    ///   - jws: the compact form.
    ///   - originalTransactionId: the subscription's, of a transaction that was verified: renewal info names no app, so
    ///     only this says whose it is; nil where the signed notification around it does.
    public func renewalInfo(
        _ jws: [UInt8], originalTransactionId: String?
    ) -> Result<SignedRenewalInfo, SignedDataRejection> {
        switch verified(jws) {
        case .success(let content):
            SignedRenewalInfo.reading(content, originalTransactionId: originalTransactionId)
        case .failure(let rejection): .failure(rejection)
        }
    }

    /// Verifies an app transaction: the proof that a customer downloaded the app.
    ///
    /// - Parameters:
    ///   - jws: the compact form, as StoreKit's `AppTransaction.shared` or Apple's server gives it.
    ///   - app: whose it must be; in production its `appAppleId` is checked too when it is known.
    public func appTransaction(_ jws: [UInt8], app: AppIdentity) -> Result<SignedAppTransaction, SignedDataRejection> {
        switch verified(jws) {
        case .success(let content): SignedAppTransaction.reading(content, app: app)
        case .failure(let rejection): .failure(rejection)
        }
    }

    /// Verifies the signature and the chain of anything the App Store signs, whatever it says.
    ///
    /// - Parameter jws: the compact form.
    /// - Returns: the payload, or the first check that failed. The caller checks whose it is and what it says.
    public func payload(_ jws: [UInt8]) -> Result<VerifiedPayload, SignedDataRejection> {
        verified(jws).map { VerifiedPayload(bytes: $0.fields.text, signedDate: $0.signedDate) }
    }

    func verified(_ jws: [UInt8]) -> Result<SignedContent, SignedDataRejection> {
        do {
            return .success(try verify(jws))
        } catch {
            let isUnread = error.code == .payloadInvalid || error.code == .signedDateMissing
            guard isUnread, isSigned(jws) else { return .failure(error) }
            return .failure(SignedDataRejection(.payloadUnreadable, error.detail))
        }
    }

    private func verify(_ jws: [UInt8]) throws(SignedDataRejection) -> SignedContent {
        guard jws.count <= limits.signedDataBytesMaximum else {
            throw SignedDataRejection(.payloadTooLarge, "more than \(limits.signedDataBytesMaximum) bytes")
        }
        guard let parts = CompactJWS(jws),
            let payload = Base64Decoding.urlSafe(jws[parts.payload]),
            let signature = Base64Decoding.urlSafe(jws[parts.signature])
        else { throw SignedDataRejection(.notAJWS, "not three parts of base64url") }

        if let known = cache.chain(for: jws[parts.header]) {
            let content = try readContent(payload)
            try known.validity.check(at: content.signedDate)
            try known.checkSignature(signature, of: jws[parts.payload])
            return content.signed(under: known.validity)
        }

        guard let headerBytes = Base64Decoding.urlSafe(jws[parts.header]) else {
            throw SignedDataRejection(.notAJWS, "not three parts of base64url")
        }
        let header = try SignedDataHeader(headerBytes, limits: limits)
        let (path, content) = try path(of: header.certificates, for: payload)
        let verified = VerifiedChain(header: Array(jws[parts.header]), path: path)
        try verified.checkSignature(signature, of: jws[parts.payload])
        cache.insert(verified)
        paths.insert(path)
        return content.signed(under: path.validity)
    }

    /// The path of a header's certificates, judged now or before, and the payload that says for which time.
    private func path(
        of certificates: [[UInt8]], for payload: [UInt8]
    ) throws(SignedDataRejection) -> (path: VerifiedPath, content: SignedContent) {
        if let known = paths.chain(for: VerifiedPath.key(of: certificates)[...]) {
            let content = try readContent(payload)
            try known.validity.check(at: content.signedDate)
            return (known, content)
        }
        judged.add(1, ordering: .relaxed)
        let chain = try CertificateChain(certificates, roots: roots)
        let content = try readContent(payload)
        try chain.checkPath()
        try chain.validity.check(at: content.signedDate)
        try chain.checkMarkers()
        guard let path = chain.verifiedPath(certificates) else {
            throw SignedDataRejection(.chainInvalid, "x5c[0] has no P-256 key")
        }
        return (path, content)
    }

    /// Reads a payload that nobody has vouched for yet, because it says at which time to judge the certificates.
    func readContent(_ payload: [UInt8]) throws(SignedDataRejection) -> SignedContent {
        let fields: JSONObject
        do {
            fields = try JSONObject(
                payload, nestingDepthMaximum: limits.nestingDepthMaximum, keepsUnreadable: true)
        } catch {
            throw SignedDataRejection(.payloadInvalid, error.reason)
        }
        // An app transaction has no signedDate; it is signed when it is made (Apple's library reads it so too).
        for name in ["signedDate", "receiptCreationDate"] {
            guard let value = fields[name], value != .null else { continue }
            guard let date = PayloadFields.date(value) else {
                throw SignedDataRejection(.payloadInvalid, "\(name) is not a time")
            }
            return SignedContent(fields: fields, signedDate: date)
        }
        throw SignedDataRejection(.signedDateMissing, "no signedDate")
    }
}

/// What a good signature vouches for.
public struct VerifiedPayload: Sendable {
    /// The payload's JSON, byte for byte as it was signed.
    public let bytes: [UInt8]
    /// When the App Store signed it, to the millisecond.
    public let signedDate: Date
}

/// A payload that has been read but, until its signature has been checked, not believed.
struct SignedContent {
    let fields: JSONObject
    let signedDate: Date
    /// When the first of the certificates expires; long ago, until it is known.
    private(set) var certificatesExpire = Date.distantPast
    /// Whether a trusted certificate of Xcode signed it, and none of Apple's servers.
    var isXcodes = false

    init(fields: JSONObject, signedDate: Date) {
        self.fields = fields
        self.signedDate = signedDate
    }

    /// The same with what is known of the chain.
    func signed(under validity: ChainValidity) -> SignedContent {
        var content = self
        content.certificatesExpire = validity.until
        return content
    }
}
