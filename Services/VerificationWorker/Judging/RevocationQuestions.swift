import AppStore
import CertificateRevocation
import PurchaseModel

/// Whether the chain of a signed transaction was taken back; asked only after the chain proved genuine.
///
/// The checker remembers answers and failures, so that a chain that is known costs nothing, and asks once for all who
/// wait; nobody waits longer than its time-out. Receipts' chains (RSA) are not asked about: receipts live for years, most
/// of the certificates that signed them have expired, and responders answer nothing about expired certificates.
struct RevocationQuestions: Sendable {
    private static let unknown = Verdict.unknown(.revocationUnknown, retryAfterSeconds: RetryTime.revocation)

    private let verifier: SignedDataVerifier
    private let checker: RevocationChecker

    init(verifier: SignedDataVerifier, checker: RevocationChecker) {
        self.verifier = verifier
        self.checker = checker
    }

    /// What speaks against a genuine JWS; nil when its certificates are good, or have expired since they signed.
    func objection(to jws: String) async -> Verdict? {
        guard let certificates = verifier.certificates(of: Array(jws.utf8)) else { return Self.unknown }
        return switch await checker.status(ofChain: certificates) {
        case .good: nil
        // The chain was valid when it signed, that was checked; nobody answers about it any more.
        case .expired: nil
        case .revoked: .rejected(.certificateRevoked, detail: "a certificate of the chain was revoked")
        case .unknown: Self.unknown
        }
    }
}
