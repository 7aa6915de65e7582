import CertificateRevocation
import Foundation
import ServerTesting
import SwiftASN1
import Testing
import X509

/// What counts as an answer, and what does not, each for its own reason.
@Suite("Judging answers")
struct JudgementTests {
    private typealias Change = (inout AnswerDraft) throws -> Void

    private func expect(
        _ expected: String, in bench: Bench, sourceLocation: SourceLocation = #_sourceLocation, _ change: Change
    ) async throws {
        let verdict = try await bench.verdict(change)
        #expect(verdict == .unknown(expected), sourceLocation: sourceLocation)
    }

    private func expectGood(
        _ bench: Bench, sourceLocation: SourceLocation = #_sourceLocation, _ change: Change
    ) async throws {
        let verdict = try await bench.verdict(change)
        #expect(verdict == .good, sourceLocation: sourceLocation)
    }

    @Test("good and revoked, by the issuer, named by key or by name, with either hash")
    func answers() async throws {
        try await Bench.run { bench in
            let date = Authority.now - 86_400
            for hash in [AnswerDraft.Hash.sha1, .sha256] {
                for isNamedByName in [false, true] {
                    let change: Change = {
                        $0.single.hash = hash
                        $0.isNamedByName = isNamedByName
                    }
                    try await expectGood(bench, change)
                    let status = try await bench.verdict {
                        try change(&$0)
                        $0.single.standing = .revoked(date)
                    }
                    #expect(status == .revoked(at: date))
                }
            }
            try await expect("the responder does not know the certificate", in: bench) {
                $0.single.standing = .unknown
            }
            try await expectGood(bench) { $0.version = 0 }
            try await expect("the answer is not of version 1", in: bench) { $0.version = 1 }
            let request = try #require(bench.responder.requests.first)
            #expect(request.head.hasPrefix("POST ") && request.header("content-type") == "application/ocsp-request")
        }
    }

    @Test("an answer about another certificate, another issuer, or by an unknown hash is none")
    func otherCertificates() async throws {
        let stranger = try Authority()
        try await Bench.run { bench in
            let reason = "the answer is about another certificate"
            let sibling = try Authority.member("Leaf", issuer: bench.authority.intermediate)
            try await expect(reason, in: bench) { $0.single.certificate = sibling.certificate }
            // The names are the same; the key is not.
            try await expect(reason, in: bench) { $0.single.issuer = stranger.intermediate.certificate }
            try await expect(reason, in: bench) { $0.single.issuer = bench.authority.root.certificate }
            try await expect(reason, in: bench) { $0.single.hash = .sha512 }
            try await expect(reason, in: bench) { $0.singles = [] }
            // Among others it is found; where it stands twice, revoked wins.
            let other = AnswerDraft.Single(
                certificate: sibling.certificate, issuer: bench.authority.intermediate.certificate,
                standing: .revoked(Authority.now))
            try await expectGood(bench) { $0.singles.insert(other, at: 0) }
            let twice = try await bench.verdict {
                $0.singles.append($0.single)
                $0.singles[1].standing = .revoked(Authority.now)
            }
            #expect(twice == .revoked(at: Authority.now))
        }
    }

    @Test("only the issuer signs, or whom it certified for that, and the signature is right")
    func signers() async throws {
        let stranger = try Authority()
        try await Bench.run { bench in
            let intermediate = bench.authority.intermediate
            try await expect("the answer's signature is wrong", in: bench) { $0.signer = stranger.leaf.key }
            try await expect("the answer's signer is not known", in: bench) {
                $0.delegate(to: stranger.intermediate)
                $0.certificates = []
            }
            for member in [stranger.intermediate, bench.authority.root, bench.authority.leaf] {
                let verdict = try await bench.verdict { $0.delegate(to: member) }
                #expect(verdict != .good)
            }
            for isNamedByName in [false, true] {
                let responder = try Authority.member(
                    "Responder", issuer: intermediate, recipe: .init(usages: [.timeStamping, .ocspSigning]))
                let status = try await bench.verdict {
                    $0.delegate(to: responder)
                    $0.isNamedByName = isNamedByName
                    $0.certificates = [stranger.leaf.certificate, responder.certificate]
                }
                #expect(status == .good)
            }
            // An answer that is about nothing else than its own signer.
            try await expect("the answer is about another certificate", in: bench) {
                $0.single.certificate = intermediate.certificate
            }
        }
    }

    @Test("a responder's certificate that its issuer did not make for that is refused")
    func delegates() async throws {
        let stranger = try Authority()
        try await Bench.run { bench in
            let intermediate = bench.authority.intermediate
            let now = Authority.now
            func responder(_ recipe: Authority.Recipe, issuer: Authority.Member? = nil) throws -> Authority.Member {
                try Authority.member("Responder", issuer: issuer ?? intermediate, recipe: recipe)
            }
            let purpose = "the responder's certificate is not for signing answers"
            for recipe in [
                Authority.Recipe(), .init(usages: [.serverAuth]), .init(usages: [.any]), .init(isAuthority: true),
                .init(usages: [.ocspSigning], keyUsage: KeyUsage(keyCertSign: true)),
            ] {
                let member = try responder(recipe)
                try await expect(purpose, in: bench) { $0.delegate(to: member) }
            }
            for recipe in [
                Authority.Recipe(usages: [.ocspSigning], notValidAfter: now - 1),
                .init(usages: [.ocspSigning], notValidBefore: now + 3_600),
            ] {
                let member = try responder(recipe)
                try await expect("the responder's certificate is not valid now", in: bench) { $0.delegate(to: member) }
            }
            // A name can be chosen; neither the root's nor a namesake's responders answer for the intermediate.
            for issuer in [bench.authority.root, stranger.intermediate, bench.authority.leaf] {
                let member = try responder(.init(usages: [.ocspSigning]), issuer: issuer)
                try await expect("the responder's certificate is not of the issuer", in: bench) {
                    $0.delegate(to: member)
                }
            }
            let odd = try responder(.init(usages: [.ocspSigning], criticalExtension: [1, 3, 6, 1, 4, 1, 99999, 1]))
            try await expect(
                "the responder's certificate has a critical extension that is not understood", in: bench
            ) { $0.delegate(to: odd) }
            let proper = try responder(.init(usages: [.ocspSigning], keyUsage: KeyUsage(digitalSignature: true)))
            try await expect("the answer's signature is wrong", in: bench) {
                $0.delegate(to: proper)
                $0.signer = stranger.leaf.key
            }
            try await expectGood(bench) { $0.delegate(to: proper) }
        }
    }

    @Test("an answer counts from its own time to its end; without an end, only when it is new")
    func times() async throws {
        try await Bench.run { bench in
            let now = Authority.now
            try await expect("the answer is too old", in: bench) { $0.single.nextUpdate = now }
            try await expect("the answer is too old", in: bench) {
                $0.single.standing = .revoked(now - 1_000)
                $0.single.nextUpdate = now - 1
            }
            try await expectGood(bench) { $0.single.nextUpdate = now + 1 }
            try await expect("the answer is of the future", in: bench) { $0.single.thisUpdate = now + 301 }
            try await expect("the answer is of the future", in: bench) { $0.producedAt = now + 301 }
            try await expectGood(bench) { $0.single.thisUpdate = now + 300 }
            try await expect("the answer is too old", in: bench) {
                $0.single.nextUpdate = nil
                $0.single.thisUpdate = now - 300
            }
            try await expectGood(bench) { $0.single.nextUpdate = nil }
        }
    }

    @Test("what must not be passed over is not passed over, and SHA-1 signs nothing")
    func criticalExtensions() async throws {
        try await Bench.run { bench in
            let reason = "the answer has a critical extension that is not understood"
            try await expect(reason, in: bench) { $0.hasCriticalExtension = true }
            try await expect(reason, in: bench) { $0.single.hasCriticalExtension = true }
            for algorithm: ASN1ObjectIdentifier in [[1, 2, 840, 10045, 4, 1], [1, 2, 840, 113549, 1, 1, 5]] {
                try await expect("the answer is signed in a way that is not supported", in: bench) {
                    $0.algorithm = algorithm
                }
            }
            try await expect("the answer's signature is wrong", in: bench) {
                $0.algorithm = [1, 2, 840, 10045, 4, 3, 2]
            }
        }
    }

    @Test("answers that have no answer in them are unknown, and say why")
    func statuses() async throws {
        try await Bench.run { bench in
            for (status, reason) in [
                (1, "the responder says that the request is malformed"), (2, "the responder has an internal error"),
                (3, "the responder says to try later"), (5, "the responder wants signed requests"),
                (6, "the responder is not authorised to answer"), (4, "the responder answers with status 4"),
                (0, "the answer is empty"),
            ] as [(UInt8, String)] {
                let verdict = try await bench.verdict(on: .ocsp(AnswerDraft.status(status)))
                #expect(verdict == .unknown(reason))
            }
            let other = try AnswerDraft.response(type: [1, 3, 6, 1, 5, 5, 7, 48, 1, 2], content: [5, 0])
            let verdict = try await bench.verdict(on: .ocsp(other))
            #expect(verdict == .unknown("the answer is not of the basic type"))
        }
    }

    @Test("garbage, and a good answer cut or changed anywhere, is never good")
    func garbage() async throws {
        try await Bench.run { bench in
            let genuine = try bench.answer()
            var answers: [[UInt8]] = [[], [0x30], [0x30, 0x80], Array("good".utf8), genuine + [0], genuine + genuine]
            answers += [Array(repeating: 0x30, count: 60_000), [0x30, 0x84, 0xFF, 0xFF, 0xFF, 0xFF]]
            answers += stride(from: 0, to: genuine.count, by: 7).map { Array(genuine.prefix($0)) }
            for index in genuine.indices {
                var changed = genuine
                changed[index] ^= 1 << UInt8(index % 8)
                answers.append(changed)
            }
            var believed: [Int] = []
            let checker = bench.checker(failureMemory: .zero)
            for (index, answer) in answers.enumerated() {
                bench.responder.answer = .ocsp(answer)
                if case .unknown = try await bench.leafStatus(checker) {} else { believed.append(index) }
            }
            #expect(believed.isEmpty)
            #expect(bench.responder.requests.count == answers.count)
            bench.responder.answer = .ocsp(genuine)
            #expect(try await bench.leafStatus(checker) == .good)
        }
    }
}
