import Crypto
import Foundation
import SwiftASN1
import X509

/// Judges an answer (RFC 6960, section 3.2): what it is about, who signed it, and whether it counts now.
struct AnswerJudge {
    enum Limit {
        /// How much a responder's clock may be ahead of ours, in seconds.
        static let clockSkew: TimeInterval = 300
        /// For how long an answer without `nextUpdate` counts, in seconds, and how old it may be when it comes.
        static let lifetimeWithoutNextUpdate: TimeInterval = 300
    }

    let question: CertificateQuestion
    let settings: RevocationChecker.Settings
    let now: Date

    /// - Throws: ``RevocationFailure`` with the first check that failed.
    func judge(_ response: OCSPResponse) throws(RevocationFailure) -> QuestionOutcome {
        guard let single = question.answer(among: response.content.singles) else {
            throw RevocationFailure("the answer is about another certificate")
        }
        guard !response.content.isCritical, !single.isCritical else {
            throw RevocationFailure("the answer has a critical extension that is not understood")
        }
        try checkSigner(of: response)
        let until = try end(of: single, producedAt: response.content.producedAt)
        let standing: SignedAnswer.Standing
        switch single.standing {
        case .good: standing = .good
        case .revoked(let date, let reason): standing = .revoked(at: date, reason: reason)
        case .unknown: return .notKnown
        }
        return .answered(
            SignedAnswer(standing: standing, thisUpdate: single.thisUpdate, receivedAt: now, until: until))
    }

    /// Until when an answer counts, which must not be over.
    private func end(of single: OCSPResponse.Single, producedAt: Date) throws(RevocationFailure) -> Date {
        guard single.thisUpdate <= now + Limit.clockSkew, producedAt <= now + Limit.clockSkew else {
            throw RevocationFailure("the answer is of the future")
        }
        // Without an end, an old answer could be played back for ever.
        let end = single.nextUpdate ?? single.thisUpdate + Limit.lifetimeWithoutNextUpdate
        guard end > now else { throw RevocationFailure("the answer is too old") }
        let longest = single.nextUpdate == nil ? Limit.lifetimeWithoutNextUpdate : .greatestFiniteMagnitude
        return min(end, now + min(longest, settings.answerLifetimeMaximum.seconds))
    }

    /// The issuer itself signs, or whom the issuer certified for it (RFC 6960, section 4.2.2.2).
    private func checkSigner(of response: OCSPResponse) throws(RevocationFailure) {
        var reason = "the answer's signer is not known"
        if isNamed(question.issuer, by: response.content.responder) {
            if isSigned(response, by: question.issuer) { return }
            reason = "the answer's signature is wrong"
        }
        for encoded in response.certificates {
            guard let certificate = try? Certificate(derEncoded: encoded), certificate != question.issuer,
                isNamed(certificate, by: response.content.responder)
            else { continue }
            if let objection = objection(to: certificate) {
                reason = objection
            } else if isSigned(response, by: certificate) {
                return
            } else {
                reason = "the answer's signature is wrong"
            }
        }
        throw RevocationFailure(reason)
    }

    private func isNamed(_ certificate: Certificate, by responder: OCSPResponse.Responder) -> Bool {
        switch responder {
        case .name(let name): certificate.subject == name
        case .keyHash(let hash):
            Insecure.SHA1.hash(data: certificate.publicKey.subjectPublicKeyInfoBytes).elementsEqual(hash)
        }
    }

    private func isSigned(_ response: OCSPResponse, by certificate: Certificate) -> Bool {
        certificate.publicKey.isValidSignature(
            response.signature, for: response.signedBytes, signatureAlgorithm: response.signatureAlgorithm)
    }

    /// Why a certificate may not sign answers about what the issuer issued; nil when it may.
    private func objection(to responder: Certificate) -> String? {
        guard responder.issuer == question.issuer.subject, SignatureAlgorithms.areUsed(by: responder),
            question.issuer.publicKey.isValidSignature(responder.signature, for: responder)
        else { return "the responder's certificate is not of the issuer" }
        guard responder.notValidBefore <= now + Limit.clockSkew, now <= responder.notValidAfter else {
            return "the responder's certificate is not valid now"
        }
        do {
            guard let usages = try responder.extensions.extendedKeyUsage, usages.contains(.ocspSigning),
                try responder.extensions.keyUsage?.digitalSignature ?? true
            else { return "the responder's certificate is not for signing answers" }
        } catch {
            return "the responder's certificate cannot be read"
        }
        for unknown in responder.extensions where unknown.critical && !Self.understood.contains(unknown.oid) {
            return "the responder's certificate has a critical extension that is not understood"
        }
        return nil
    }

    private static let understood: Set<ASN1ObjectIdentifier> = [
        .X509ExtensionID.basicConstraints, .X509ExtensionID.keyUsage, .X509ExtensionID.extendedKeyUsage,
        .X509ExtensionID.authorityKeyIdentifier, .X509ExtensionID.subjectKeyIdentifier,
        // id-pkix-ocsp-nocheck: whoever has it is not asked about, and here nobody who signs answers is.
        [1, 3, 6, 1, 5, 5, 7, 48, 1, 5],
    ]
}
