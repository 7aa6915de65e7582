import CertificateRevocation
import Foundation
import ServerTesting
import Testing
import X509

/// Certificates that have expired since they signed: responders say nothing of them, so nobody is asked.
@Suite("Expired certificates", .timeLimit(.minutes(2)))
struct ExpiryTests {
    /// Runs the body with a leaf that is valid for so many seconds more.
    private func withLeaf(validFor seconds: TimeInterval, _ body: (Bench) async throws -> Void) async throws {
        try await Bench.run(try Self.authority(leafUntil: Authority.now + seconds), body)
    }

    private static func authority(
        leafUntil: Date?, intermediateUntil: Date? = nil, leafURL: [String] = [], intermediateURL: [String] = []
    ) throws -> Authority {
        let root = try Authority().root
        let intermediate = try Authority.member(
            "Intermediate", issuer: root,
            recipe: .init(isAuthority: true, locations: intermediateURL, notValidAfter: intermediateUntil))
        let leaf = try Authority.member(
            "Leaf", issuer: intermediate, recipe: .init(locations: leafURL, notValidAfter: leafUntil))
        return Authority(root: root, intermediate: intermediate, leaf: leaf)
    }

    @Test("nobody is asked about a certificate from the second after its last one on")
    func nobodyIsAsked() async throws {
        try await withLeaf(validFor: 0) { (bench: Bench) async throws in
            bench.responder.answer = .status(503)
            let early = bench.checker()
            #expect(try await bench.leafStatus(early) == .unknown("the responder answered HTTP 503"))
            #expect(bench.responder.requests.count == 1)
            bench.clock.advance(by: 1)
            let late = bench.checker()
            for _ in 0..<50 { #expect(try await bench.leafStatus(late) == .expired) }
            // Nor again, once the failure of before is forgotten, or much later.
            bench.clock.advance(by: 5)
            #expect(try await bench.leafStatus(early) == .expired)
            bench.clock.advance(by: 1e8)
            for checker in [early, late] { #expect(try await bench.leafStatus(checker) == .expired) }
            #expect(bench.responder.requests.count == 1)
        }
    }

    @Test("a hundred who ask at once are told the same, and nobody is asked")
    func atOnce() async throws {
        try await withLeaf(validFor: -1) { bench in
            bench.responder.answer = .ocsp(try bench.answer())
            let checker = bench.checker()
            let statuses = try await withThrowingTaskGroup(of: RevocationStatus.self) { group in
                for _ in 0..<100 { group.addTask { try await bench.leafStatus(checker) } }
                return try await group.reduce(into: [RevocationStatus]()) { $0.append($1) }
            }
            #expect(statuses == Array(repeating: .expired, count: 100))
            #expect(bench.responder.requests.isEmpty)
        }
    }

    @Test("a certificate that is known as revoked is revoked for ever")
    func revoked() async throws {
        try await withLeaf(validFor: 10_000) { bench in
            let checker = bench.checker()
            let date = bench.clock.now - 10
            bench.responder.answer = .ocsp(try bench.answer { $0.single.standing = .revoked(date) })
            #expect(try await bench.leafStatus(checker) == .revoked(at: date))
            // What anybody says later does not count: it is not asked for.
            bench.clock.advance(by: 10_001)
            bench.responder.answer = .ocsp(try bench.answer())
            for _ in 0..<3 {
                for _ in 0..<3 { #expect(try await bench.leafStatus(checker) == .revoked(at: date)) }
                bench.clock.advance(by: 1e7)
            }
            #expect(bench.responder.requests.count == 1)
        }
    }

    @Test("a revocation that is answered after the expiry counts, too")
    func revokedMeanwhile() async throws {
        try await withLeaf(validFor: 0) { bench in
            let checker = bench.checker()
            let date = bench.clock.now - 10
            bench.responder.answer = .held
            let waiting = Task { try await bench.leafStatus(checker) }
            await bench.responder.waitForRequests(1)
            bench.clock.advance(by: 1)
            bench.responder.release(.ocsp(try bench.answer { $0.single.standing = .revoked(date) }))
            #expect(try await waiting.value == .revoked(at: date))
            bench.clock.advance(by: 1e7)
            for _ in 0..<3 { #expect(try await bench.leafStatus(checker) == .revoked(at: date)) }
            #expect(bench.responder.requests.count == 1)
        }
    }

    @Test("good counts as long as it would have counted without an answer, and is not renewed")
    func good() async throws {
        try await withLeaf(validFor: 1_000) { bench in
            let checker = bench.checker()
            bench.responder.answer = .ocsp(try bench.answer())
            #expect(try await bench.leafStatus(checker) == .good)
            // A renewal is due, then the end is over, then the grace.
            for seconds in [2_700, 900, 86_399] as [TimeInterval] {
                bench.clock.advance(by: seconds)
                for _ in 0..<3 { #expect(try await bench.leafStatus(checker) == .good) }
            }
            bench.clock.advance(by: 1)
            for _ in 0..<3 { #expect(try await bench.leafStatus(checker) == .expired) }
            #expect(bench.responder.requests.count == 1)
        }
    }

    @Test("what the responder did not know before is expired, too")
    func notKnown() async throws {
        try await withLeaf(validFor: 0) { bench in
            let checker = bench.checker()
            bench.responder.answer = .ocsp(try bench.answer { $0.single.standing = .unknown })
            #expect(
                try await bench.leafStatus(checker) == .unknown("the responder does not know the certificate"))
            bench.clock.advance(by: 6)
            #expect(try await bench.leafStatus(checker) == .expired)
            #expect(bench.responder.requests.count == 1)
        }
    }

    @Test("a clock that went ahead and is set back has made nothing expire")
    func clock() async throws {
        try await withLeaf(validFor: 1_000) { bench in
            let checker = bench.checker()
            bench.clock.advance(by: 2_000)
            #expect(try await bench.leafStatus(checker) == .expired)
            bench.clock.advance(by: -2_000)
            bench.responder.answer = .ocsp(try bench.answer())
            #expect(try await bench.leafStatus(checker) == .good)
            #expect(bench.responder.requests.count == 1)
        }
    }

    @Test("an expired certificate of somebody else, or none at all, is not called expired")
    func otherIssuer() async throws {
        try await withLeaf(validFor: -1) { bench in
            let checker = bench.checker()
            let leaf = try bench.authority.leaf.encoded
            let root = try bench.authority.root.encoded
            #expect(
                await checker.status(of: leaf, issuer: root)
                    == .unknown("the certificate was issued by somebody else"))
            #expect(
                await checker.status(of: leaf.dropLast(), issuer: root) == .unknown("a certificate cannot be read"))
            #expect(bench.responder.requests.isEmpty)
        }
    }

    @Test("of a chain, revoked wins, then unknown, then expired, then good; the expired one is not asked about")
    func chains() async throws {
        let date = Authority.now - 100
        let notKnown = RevocationStatus.unknown("the responder does not know the certificate")
        // Nil is expired.
        let cases: [(leaf: AnswerDraft.Standing?, intermediate: AnswerDraft.Standing?, expected: RevocationStatus)] = [
            (nil, .good, .expired),
            (.good, nil, .expired),
            (nil, nil, .expired),
            (nil, .revoked(date), .revoked(at: date)),
            (.revoked(date), nil, .revoked(at: date)),
            (nil, .unknown, notKnown),
            (.unknown, nil, notKnown),
        ]
        for (ofLeaf, ofIntermediate, expected) in cases {
            try await Responder.with { leafs, leafURL, http in
                try await Responder.with { intermediates, intermediateURL, _ in
                    let authority = try Self.authority(
                        leafUntil: ofLeaf == nil ? Authority.now - 1 : nil,
                        intermediateUntil: ofIntermediate == nil ? Authority.now - 1 : nil,
                        leafURL: [leafURL], intermediateURL: [intermediateURL])
                    let checker = RevocationChecker(http: http, now: { Authority.now })
                    leafs.answer = .ocsp(
                        try answer(authority.leaf, by: authority.intermediate, ofLeaf ?? .good))
                    intermediates.answer = .ocsp(
                        try answer(authority.intermediate, by: authority.root, ofIntermediate ?? .good))
                    let chain = try authority.chain
                    #expect(await checker.status(ofChain: chain) == expected)
                    #expect(leafs.requests.count == (ofLeaf == nil ? 0 : 1))
                    #expect(intermediates.requests.count == (ofIntermediate == nil ? 0 : 1))
                }
            }
        }
    }

    private func answer(
        _ certificate: Authority.Member, by issuer: Authority.Member, _ standing: AnswerDraft.Standing
    ) throws -> [UInt8] {
        var draft = AnswerDraft(about: certificate.certificate, issuer: issuer)
        draft.single.standing = standing
        return try draft.encoded()
    }
}
