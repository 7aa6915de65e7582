import CertificateRevocation
import Crypto
import Foundation
import ServerTesting
import Testing
import X509

/// Leaf and intermediate together.
@Suite("Chains", .timeLimit(.minutes(2)))
struct ChainTests {
    /// One answer that speaks of nothing but one certificate.
    private func answer(
        _ certificate: Authority.Member, by issuer: Authority.Member, _ standing: AnswerDraft.Standing
    ) throws -> [UInt8] {
        var draft = AnswerDraft(about: certificate.certificate, issuer: issuer)
        draft.single.standing = standing
        return try draft.encoded()
    }

    @Test("both are asked about at once; revoked wins, then unknown")
    func worst() async throws {
        try await Responder.with { leafs, leafURL, http in
            try await Responder.with { intermediates, intermediateURL, _ in
                let root = try Authority().root
                let intermediate = try Authority.member(
                    "Intermediate", issuer: root, recipe: .init(isAuthority: true, locations: [intermediateURL]))
                let leaf = try Authority.member("Leaf", issuer: intermediate, recipe: .init(locations: [leafURL]))
                let chain = [try leaf.encoded, try intermediate.encoded, try root.encoded]
                leafs.answer = .held
                intermediates.answer = .held
                let early = Authority.now - 100
                let late = Authority.now - 50
                let cases: [(AnswerDraft.Standing, AnswerDraft.Standing, RevocationStatus)] = [
                    (.good, .good, .good),
                    (.revoked(late), .good, .revoked(at: late)),
                    (.good, .revoked(late), .revoked(at: late)),
                    (.unknown, .revoked(late), .revoked(at: late)),
                    (.revoked(late), .unknown, .revoked(at: late)),
                    (.revoked(late), .revoked(early), .revoked(at: early)),
                    (.unknown, .good, .unknown("the responder does not know the certificate")),
                    (.good, .unknown, .unknown("the responder does not know the certificate")),
                ]
                for (index, (ofLeaf, ofIntermediate, expected)) in cases.enumerated() {
                    // A busy machine is no responder that is away.
                    let checker = RevocationChecker(
                        http: http, settings: .init(timeout: .seconds(60)), now: { Authority.now })
                    let status = Task { await checker.status(ofChain: chain) }
                    // Neither waits for the other.
                    await leafs.waitForRequests(index + 1)
                    await intermediates.waitForRequests(index + 1)
                    leafs.release(.ocsp(try answer(leaf, by: intermediate, ofLeaf)))
                    intermediates.release(.ocsp(try answer(intermediate, by: root, ofIntermediate)))
                    #expect(await status.value == expected)
                }
            }
        }
    }

    @Test("where a certificate names no responder nobody is asked, which is told once; unknown and revoked count more")
    func noResponder() async throws {
        try await Responder.with { responder, url, http in
            let root = try Authority().root
            // Where its issuer's certificate is says nothing of who answers about it.
            let intermediate = try Authority.member(
                "Intermediate", issuer: root, recipe: .init(isAuthority: true, locations: [url], access: .issuingCA))
            let leaf = try Authority.member("Leaf", issuer: intermediate, recipe: .init(locations: [url]))
            let chain = [try leaf.encoded, try intermediate.encoded, try root.encoded]
            let fingerprint = Array(SHA256.hash(data: chain[1]))
            let (early, late) = (Authority.now - 100, Authority.now - 50)
            let cases: [(AnswerDraft.Standing, RevocationStatus)] = [
                (.good, .noResponder),
                (.unknown, .unknown("the responder does not know the certificate")),
                (.revoked(late), .revoked(at: late)),
            ]
            for (index, (ofLeaf, expected)) in cases.enumerated() {
                responder.answer = .ocsp(try answer(leaf, by: intermediate, ofLeaf))
                let (told, revoked) = (Tally(), RevokedCertificates())
                let checker = RevocationChecker(
                    http: http, settings: .init(timeout: .seconds(60)), revoked: revoked,
                    onNoResponder: { told.add() }, now: { Authority.now })
                for _ in 0..<3 { #expect(await checker.status(ofChain: chain) == expected) }
                #expect(told.count == 1)
                #expect(responder.requests.count == index + 1, "about the leaf")
                revoked.use(stored: [fingerprint: early])
                #expect(await checker.status(ofChain: chain) == .revoked(at: early))
            }
        }
    }

    @Test("a chain has three certificates, in order")
    func counts() async throws {
        try await Bench.run { bench in
            let checker = bench.checker()
            let chain = try bench.authority.chain
            for wrong in [[], [chain[0]], [chain[0], chain[1]], chain + [chain[2]]] {
                let status = await checker.status(ofChain: wrong)
                #expect(status == .unknown("not a chain of three certificates"))
            }
            let reversed = await checker.status(ofChain: chain.reversed())
            #expect(reversed == .unknown("the certificate was issued by somebody else"))
            #expect(bench.responder.requests.isEmpty)
        }
    }
}
