import Crypto
public import Foundation
import Synchronization

/// Certificates that are known as revoked: by answers that were learnt here, and by what somebody has stored.
///
/// What is in here is revoked whatever a responder says later, or does not say: only taking it out of what is stored ends it.
public final class RevokedCertificates: Sendable {
    /// An answer that a certificate is revoked.
    public struct Revocation: Sendable, Hashable {
        /// The SHA-256 of the certificate in DER.
        public let fingerprint: [UInt8]
        /// The certificate in DER.
        public let certificate: [UInt8]
        /// Since when.
        public let revokedAt: Date
        /// Why, as a number of RFC 5280, section 5.3.1 (1 is a leaked key); nil where the responder does not say.
        public let reason: Int?
        /// The responder's answer in DER, which it signed.
        public let answer: [UInt8]

        /// Makes one.
        public init(
            fingerprint: [UInt8], certificate: [UInt8], revokedAt: Date, reason: Int?, answer: [UInt8]
        ) {
            self.fingerprint = fingerprint
            self.certificate = certificate
            self.revokedAt = revokedAt
            self.reason = reason
            self.answer = answer
        }
    }

    private struct State {
        var stored: [[UInt8]: Date] = [:]
        /// What was learnt here and is not known to be stored yet.
        var learnt: [[UInt8]: Date] = [:]
    }

    /// Held for look-ups in small dictionaries; hashing happens outside.
    private let state = Mutex(State())
    private let onLearnt: (@Sendable (Revocation) -> Void)?

    /// Makes an empty collection.
    ///
    /// - Parameter onLearnt: called with each answer that a certificate is revoked, to store it; must not wait.
    public init(onLearnt: (@Sendable (Revocation) -> Void)? = nil) {
        self.onLearnt = onLearnt
    }

    /// Whether none is known.
    public var isEmpty: Bool { state.withLock { $0.stored.isEmpty && $0.learnt.isEmpty } }

    /// Since when one of these certificates (DER) is revoked; nil when none of them is.
    public func date(ofAnyOf certificates: [[UInt8]]) -> Date? {
        guard !isEmpty else { return nil }
        return certificates.compactMap { date(ofFingerprint: Array(SHA256.hash(data: $0))) }.min()
    }

    /// Takes over what is stored, in place of what was stored before.
    ///
    /// What was stored, and is no more, somebody has taken back. What was learnt and never stored stays.
    ///
    /// - Parameter stored: since when, by the SHA-256 of the certificate.
    public func use(stored: [[UInt8]: Date]) {
        state.withLock { state in
            for fingerprint in state.stored.keys where stored[fingerprint] == nil {
                state.learnt[fingerprint] = nil
            }
            for fingerprint in stored.keys { state.learnt[fingerprint] = nil }
            state.stored = stored
        }
    }

    func date(ofFingerprint fingerprint: [UInt8]) -> Date? {
        state.withLock { $0.stored[fingerprint] ?? $0.learnt[fingerprint] }
    }

    func learn(_ revocation: Revocation) {
        let isNew = state.withLock { state in
            guard state.stored[revocation.fingerprint] == nil, state.learnt[revocation.fingerprint] == nil else {
                return false
            }
            state.learnt[revocation.fingerprint] = revocation.revokedAt
            return true
        }
        if isNew { onLearnt?(revocation) }
    }
}
