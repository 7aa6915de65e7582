public import Foundation

/// What is known of a certificate, or of a chain of them.
public enum RevocationStatus: Sendable, Hashable {
    /// Not revoked, by an answer that its issuer signed and that counts now.
    case good
    /// Revoked, since then.
    case revoked(at: Date)
    /// Expired by now, so nobody is asked: responders stop answering about such certificates.
    ///
    /// What was known before still counts: a certificate that was revoked is ``revoked(at:)`` for ever.
    case expired
    /// It names no responder, so there is nobody to ask; what is known as revoked is ``revoked(at:)`` all the same.
    case noResponder
    /// Nobody could say; why, without anything that was signed.
    case unknown(String)
}

/// What one question came to.
enum QuestionOutcome: Sendable {
    /// A signed answer that counts.
    case answered(SignedAnswer)
    /// A signed answer that the responder does not know the certificate (RFC 6960, section 2.2).
    case notKnown
    /// Nobody was asked: the certificate had expired, then.
    case expired(Date)
    /// There is nobody to ask.
    case noResponder
    /// No answer that counts.
    case failed(RevocationFailure)
}

/// An answer whose signature and times were checked.
struct SignedAnswer: Sendable {
    enum Standing: Sendable {
        case good
        case revoked(at: Date, reason: Int?)
    }

    let standing: Standing
    /// As of when the responder says it.
    let thisUpdate: Date
    /// When it was received, by our clock.
    let receivedAt: Date
    /// Until when it counts, by our clock.
    let until: Date

    var isRevoked: Bool {
        if case .revoked = standing { true } else { false }
    }
}

/// Why a question has no answer that counts.
struct RevocationFailure: Error {
    /// Fit to be shown: nothing of what was signed is in it.
    let reason: String

    init(_ reason: String) {
        self.reason = reason
    }
}
