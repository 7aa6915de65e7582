public import Foundation

/// Verifies incoming webhooks by Standard Webhooks 1.0.0 (`v1`, HMAC-SHA256; `v1a`, ed25519).
///
/// A message is good when its time is within the tolerance and any `v1` signature in the header fits any of the
/// secrets, or any `v1a` signature any of the public keys. Signatures of schemes that nothing is known for are passed over. Replays within the tolerance are the receiver's to
/// find, by the message's id.
public struct WebhookVerifier: Sendable {
    /// How far a message's time may be from now by default: five minutes, the specification's advice.
    public static let toleranceDefault = Duration.seconds(300)
    /// The most signatures a header may list; more than a rotation ever needs, few enough to compute for anybody.
    public static let signaturesMaximum = 16
    /// The longest text of a timestamp that is read: the digits of the largest 64-bit number.
    static let timestampLengthMaximum = 19

    private let secrets: [WebhookSecret]
    private let publicKeys: [WebhookPublicKey]
    private let tolerance: Duration

    /// Makes a verifier.
    ///
    /// - Parameters:
    ///   - secrets: Every secret that may have signed.
    ///   - publicKeys: Of every ed25519 key that may have signed.
    ///   - tolerance: How far the message's time may be from now, either way. Default: 300 seconds.
    public init(
        secrets: [WebhookSecret] = [], publicKeys: [WebhookPublicKey] = [], tolerance: Duration = toleranceDefault
    ) {
        self.secrets = secrets
        self.publicKeys = publicKeys
        self.tolerance = tolerance
    }

    /// Verifies one message; returns when it is genuine.
    ///
    /// - Parameters:
    ///   - id: The header `webhook-id`.
    ///   - timestamp: The header `webhook-timestamp`.
    ///   - signature: The header `webhook-signature`.
    ///   - body: The bytes as received, before any parsing.
    ///   - now: The present time.
    /// - Throws: ``WebhookVerificationError`` with the first check that failed.
    public func verify(
        id: String, timestamp: String, signature: String, body: [UInt8], now: Date
    ) throws(WebhookVerificationError) {
        try checkTime(timestamp, now: now)
        let entries = try signatures(in: signature)
        // Every pair is compared, without stopping at the first that fits: the time says nothing about which fitted.
        var matches = 0
        for entry in entries where entry.scheme == WebhookSigner.scheme {
            for secret in secrets where secret.accepts(entry.bytes, id: id, timestamp: timestamp, body: body) {
                matches += 1
            }
        }
        for entry in entries where entry.scheme == WebhookSigner.asymmetricScheme {
            for key in publicKeys where key.accepts(entry.bytes, id: id, timestamp: timestamp, body: body) {
                matches += 1
            }
        }
        guard matches > 0 else { throw WebhookVerificationError(code: .noMatchingSignature) }
    }

    private func checkTime(_ text: String, now: Date) throws(WebhookVerificationError) {
        let digits = text.utf8
        guard
            !digits.isEmpty, digits.count <= Self.timestampLengthMaximum,
            digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let seconds = Int64(text)
        else { throw WebhookVerificationError(code: .malformedTimestamp) }
        let age = now.timeIntervalSince1970 - Double(seconds)
        let limit = Double(tolerance.components.seconds) + Double(tolerance.components.attoseconds) / 1e18
        guard age <= limit else { throw WebhookVerificationError(code: .timestampTooOld) }
        guard age >= -limit else { throw WebhookVerificationError(code: .timestampTooNew) }
    }

    /// The schemes that something is known for.
    private var schemes: [String] {
        (secrets.isEmpty && !publicKeys.isEmpty ? [] : [WebhookSigner.scheme])
            + (publicKeys.isEmpty ? [] : [WebhookSigner.asymmetricScheme])
    }

    private func signatures(in header: String) throws(WebhookVerificationError) -> [(scheme: String, bytes: Data)] {
        let entries = header.split(separator: " ", maxSplits: Self.signaturesMaximum, omittingEmptySubsequences: true)
        guard entries.count <= Self.signaturesMaximum else {
            throw WebhookVerificationError(code: .tooManySignatures)
        }
        let schemes = schemes
        var signatures: [(scheme: String, bytes: Data)] = []
        for entry in entries {
            guard let comma = entry.firstIndex(of: ",") else {
                throw WebhookVerificationError(code: .malformedSignature)
            }
            let scheme = String(entry[..<comma])
            guard schemes.contains(scheme) else { continue }
            guard let bytes = Data(base64Encoded: String(entry[entry.index(after: comma)...])) else {
                throw WebhookVerificationError(code: .malformedSignature)
            }
            signatures.append((scheme, bytes))
        }
        guard !signatures.isEmpty else { throw WebhookVerificationError(code: .malformedSignature) }
        return signatures
    }
}
