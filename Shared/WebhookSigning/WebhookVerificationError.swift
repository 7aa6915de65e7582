/// Why a webhook was refused; safe to show and to log.
public struct WebhookVerificationError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The check that failed.
    public struct Code: Sendable, Hashable {
        fileprivate enum Base {
            case malformedTimestamp, timestampTooOld, timestampTooNew
            case malformedSignature, tooManySignatures, noMatchingSignature
        }
        fileprivate let base: Base

        /// The timestamp is not a whole number of seconds.
        public static let malformedTimestamp = Code(base: .malformedTimestamp)
        /// The message is older than the tolerance allows.
        public static let timestampTooOld = Code(base: .timestampTooOld)
        /// The message is further in the future than the tolerance allows.
        public static let timestampTooNew = Code(base: .timestampTooNew)
        /// The signature header is not a list of `version,base64`, or lists no signature of a scheme that
        /// there is a secret or key for.
        public static let malformedSignature = Code(base: .malformedSignature)
        /// The signature header lists more signatures than are ever tried.
        public static let tooManySignatures = Code(base: .tooManySignatures)
        /// No signature fits any of the secrets.
        public static let noMatchingSignature = Code(base: .noMatchingSignature)
    }

    /// The check that failed.
    public let code: Code

    /// One sentence, safe to show.
    public var description: String {
        switch code.base {
        case .malformedTimestamp: "The webhook's timestamp is not a whole number of seconds since 1970."
        case .timestampTooOld: "The webhook's timestamp is too old."
        case .timestampTooNew: "The webhook's timestamp is too far in the future."
        case .malformedSignature: "The webhook's signature header holds no well-formed signature of a known scheme."
        case .tooManySignatures:
            "The webhook's signature header lists more than \(WebhookVerifier.signaturesMaximum) signatures."
        case .noMatchingSignature: "No signature of the webhook fits a known secret."
        }
    }
}
