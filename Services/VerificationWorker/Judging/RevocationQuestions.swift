import AppStore
import CertificateRevocation
import PurchaseModel

/// Whether the chain of a signed transaction or notification was taken back; asked only after it proved genuine.
///
/// What is known as revoked is refused whether anybody is asked or not. The checker remembers answers and failures, so that a chain that is known costs nothing, and asks once for all who
/// wait; nobody waits longer than its time-out. Receipts' chains (RSA) are not asked about: receipts live for years, most
/// of the certificates that signed them have expired, and responders answer nothing about expired certificates.
struct RevocationQuestions: Sendable {
    private static let revoked = Verdict.rejected(
        .certificateRevoked, detail: "a certificate of the chain was revoked")
    private static let unknown = Verdict.unknown(.revocationUnknown, retryAfterSeconds: RetryTime.revocation)

    let verifier: SignedDataVerifier
    /// Nil when nobody is to be asked.
    let checker: RevocationChecker?
    var revoked = RevokedCertificates()

    /// Whether there is anything to find out: somebody is asked, or something is known as revoked.
    var areNeeded: Bool { checker != nil || !revoked.isEmpty }

    /// What speaks against a genuine JWS; nil when its certificates are good, have expired since they signed, or name
    /// nobody to ask.
    func objection(to jws: String) async -> Verdict? {
        guard areNeeded else { return nil }
        let bytes = Array(jws.utf8)
        guard let certificates = verifier.certificates(of: bytes) else {
            // Nobody revokes what Xcode made on a developer's machine.
            return verifier.isSignedByXcode(bytes) ? nil : Self.unknown
        }
        return await objection(to: [certificates])
    }

    /// What speaks against a genuine notification: against itself, and against everything signed that is in it.
    func objection(toNotification jws: String) async -> Verdict? {
        guard areNeeded else { return nil }
        guard let chains = verifier.certificateChains(ofNotification: Array(jws.utf8)) else { return Self.unknown }
        return await objection(to: chains)
    }

    /// What speaks against a genuine subscription status: against its transaction, and against its renewal info.
    func objection(toStatus proof: String) async -> Verdict? {
        guard areNeeded else { return nil }
        let chains = proof.split(separator: "\n").map { verifier.certificates(of: Array($0.utf8)) }
        guard !chains.contains(where: { $0 == nil }) else { return Self.unknown }
        return await objection(to: chains.compactMap(\.self))
    }

    /// A revoked certificate counts for more than one that nobody knows of.
    private func objection(to chains: [[[UInt8]]]) async -> Verdict? {
        var objection: Verdict?
        for chain in chains {
            guard revoked.date(ofAnyOf: chain) == nil else { return Self.revoked }
            guard let checker else { continue }
            switch await checker.status(ofChain: chain) {
            case .good: break
            // The chain was valid when it signed, that was checked; nobody answers about it any more.
            case .expired: break
            // There is nobody to ask, so an unknown would be one for ever; people were told.
            case .noResponder: break
            case .revoked: return Self.revoked
            case .unknown: objection = Self.unknown
            }
        }
        return objection
    }
}
