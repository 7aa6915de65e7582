public import AsyncHTTPClient
import Crypto
public import Foundation
import X509

/// Asks the responders of certificates whether those are revoked (OCSP, RFC 6960), and remembers what they answer.
///
/// One question is under way for a certificate at a time, however many ask. An answer counts until its `nextUpdate`;
/// before that it is renewed in the background. While no new one can be had, an answer of *good* counts on for a grace.
/// *Revoked* counts for ever, and is not asked again. Nobody is asked about a certificate that has expired by now, or that names nobody. Everything that goes wrong is *unknown*, with the reason; nothing is thrown or logged.
///
/// Whether a certificate is otherwise valid, and who issued it, the caller has verified before. The `HTTPClient` belongs
/// to the caller, who shuts it down and who best forbids redirects in its configuration: no responder needs them.
public final class RevocationChecker: Sendable {
    enum Limit {
        /// Bytes of a certificate in DER; Apple's have 1.1 kB.
        static let certificateBytes = 8_192
    }

    /// What was given.
    public let settings: Settings

    private let exchange: ResponderExchange
    private let now: @Sendable () -> Date
    private let book: AnswerBook
    private let revoked: RevokedCertificates
    private let onNoResponder: @Sendable () -> Void

    /// Makes a checker that remembers nothing yet.
    ///
    /// - Parameters:
    ///   - http: sends the requests; the caller shuts it down.
    ///   - settings: how long it waits and remembers, and whom it asks.
    ///   - revoked: what is known as revoked; what is learnt goes there.
    ///   - onNoResponder: told of a certificate that names no responder; once of each, as long as it is remembered.
    ///   - now: the wall clock that answers are judged by.
    public init(
        http: HTTPClient, settings: Settings = .init(), revoked: RevokedCertificates = RevokedCertificates(),
        onNoResponder: @escaping @Sendable () -> Void = {}, now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.revoked = revoked
        self.onNoResponder = onNoResponder
        self.settings = settings
        self.now = now
        exchange = ResponderExchange(http: http, timeout: settings.timeout)
        book = AnswerBook(settings: settings)
    }

    /// How many certificates are remembered now, with answers or failures.
    public var certificatesRemembered: Int { book.count }

    /// Whether a certificate is revoked.
    ///
    /// It waits only when nothing is known: for ``Settings/timeout`` at most. When the task is cancelled, it says
    /// *unknown* at once; the question goes on for the others who ask.
    ///
    /// - Parameters:
    ///   - certificate: DER.
    ///   - issuer: the certificate of who issued it, DER; the caller has verified that.
    public func status(of certificate: [UInt8], issuer: [UInt8]) async -> RevocationStatus {
        guard certificate.count <= Limit.certificateBytes, issuer.count <= Limit.certificateBytes else {
            return .unknown("a certificate is larger than \(Limit.certificateBytes) bytes")
        }
        let key = CertificateKey(certificate, issuer: issuer)
        if let date = revoked.date(ofFingerprint: key.fingerprint) { return .revoked(at: date) }
        var lookup = book.lookUp(key, at: now())
        if case .known(.revoked, _) = lookup {
            // Somebody has taken back what was learnt: it is asked about anew.
            book.forget(key)
            lookup = book.lookUp(key, at: now())
        }
        switch lookup {
        case .known(let status, let mustAsk):
            if mustAsk { ask(about: certificate, issuer: issuer, key: key) }
            return status
        case .awaited(let mustAsk):
            if mustAsk { ask(about: certificate, issuer: issuer, key: key) }
            return await answer(of: key)
        case .full:
            return .unknown("too many questions are under way")
        }
    }

    /// Whether a leaf or its intermediate is revoked; both are asked about at once.
    ///
    /// - Parameter certificates: leaf, intermediate and root in DER, which the caller has verified.
    /// - Returns: *revoked*, by the earlier time, when one of them is; else *unknown* when one of them is; else
    ///   *noResponder* when one of them is; else *expired* when one of them is; else *good*.
    public func status(ofChain certificates: [[UInt8]]) async -> RevocationStatus {
        guard certificates.count == 3 else { return .unknown("not a chain of three certificates") }
        async let leaf = status(of: certificates[0], issuer: certificates[1])
        async let intermediate = status(of: certificates[1], issuer: certificates[2])
        return Self.worse(await leaf, await intermediate)
    }

    private static func worse(_ first: RevocationStatus, _ second: RevocationStatus) -> RevocationStatus {
        switch (first, second) {
        case (.revoked(let one), .revoked(let other)): .revoked(at: min(one, other))
        case (.revoked, _): first
        case (_, .revoked): second
        case (.unknown, _): first
        case (_, .unknown): second
        case (.noResponder, _): first
        case (_, .noResponder): second
        case (.expired, _): first
        default: second
        }
    }

    /// Begins a question that nobody's cancellation ends.
    ///
    /// Others may wait for it, and it is over by the time-out.
    private func ask(about certificate: [UInt8], issuer: [UInt8], key: CertificateKey) {
        Task {
            let outcome = await outcome(of: certificate, issuer: issuer, key: key)
            book.settle(key, outcome, at: now())
        }
    }

    @inline(never)
    private func outcome(of certificate: [UInt8], issuer: [UInt8], key: CertificateKey) async -> QuestionOutcome {
        do {
            let question = try CertificateQuestion(certificate: certificate, issuer: issuer)
            // Responders need not keep what expired (RFC 6960, section 4.4.4), and do not: there is nothing to ask for.
            let expiry = question.certificate.notValidAfter
            if expiry < now() { return .expired(expiry) }
            guard let url = try ResponderAddress.url(of: question.certificate, instead: settings.responder) else {
                onNoResponder()
                return .noResponder
            }
            let bytes = try await exchange.answer(to: question.request, at: url)
            let response = try OCSPResponse(derEncoded: bytes)
            let outcome = try AnswerJudge(question: question, settings: settings, now: now()).judge(response)
            if case .answered(let answer) = outcome, case .revoked(let date, let reason) = answer.standing {
                revoked.learn(
                    RevokedCertificates.Revocation(
                        fingerprint: key.fingerprint, certificate: certificate, revokedAt: date, reason: reason,
                        answer: bytes))
            }
            return outcome
        } catch let failure as RevocationFailure {
            return .failed(failure)
        } catch {
            return .failed(RevocationFailure("the answer cannot be read"))
        }
    }

    private func answer(of key: CertificateKey) async -> RevocationStatus {
        let waiter = book.makeWaiter()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if let status = book.enlist(waiter, continuation, for: key, at: now()) {
                    continuation.resume(returning: status)
                } else if Task.isCancelled {
                    // The handler may have run before there was anybody to dismiss.
                    book.dismiss(waiter, of: key)
                }
            }
        } onCancel: {
            book.dismiss(waiter, of: key)
        }
    }
}

/// A certificate with its issuer, by which answers are remembered.
struct CertificateKey: Hashable, Sendable {
    /// The SHA-256 of the certificate.
    let fingerprint: [UInt8]
    private let issuer: SHA256Digest

    init(_ certificate: [UInt8], issuer: [UInt8]) {
        fingerprint = Array(SHA256.hash(data: certificate))
        self.issuer = SHA256.hash(data: issuer)
    }
}
