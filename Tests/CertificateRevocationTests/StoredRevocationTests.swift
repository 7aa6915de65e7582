import CertificateRevocation
import Crypto
import Foundation
import ServerTesting
import Synchronization
import Testing

/// Revocations that outlive a process.
@Suite("Stored revocations", .timeLimit(.minutes(2)))
struct StoredRevocationTests {
    /// What was learnt, in its order.
    private final class Learnt: Sendable {
        private let state = Mutex<[RevokedCertificates.Revocation]>([])

        var all: [RevokedCertificates.Revocation] { state.withLock { $0 } }

        func add(_ revocation: RevokedCertificates.Revocation) { state.withLock { $0.append(revocation) } }
    }

    private func fingerprint(_ bench: Bench) throws -> [UInt8] {
        Array(SHA256.hash(data: try bench.authority.leaf.encoded))
    }

    @Test("what is learnt is told once, with the answer that says so")
    func learnt() async throws {
        try await Bench.run { bench in
            let learnt = Learnt()
            let revoked = RevokedCertificates { learnt.add($0) }
            let date = bench.clock.now - 10
            let answer = try bench.answer { $0.single.standing = .revoked(date) }
            bench.responder.answer = .ocsp(answer)
            for checker in [bench.checker(revoked: revoked), bench.checker(revoked: revoked)] {
                for _ in 0..<3 { #expect(try await bench.leafStatus(checker) == .revoked(at: date)) }
            }
            #expect(bench.responder.requests.count == 1)
            let told = try #require(learnt.all.first)
            #expect(learnt.all.count == 1)
            #expect(told.fingerprint == (try fingerprint(bench)))
            #expect(told.certificate == (try bench.authority.leaf.encoded))
            #expect(told.revokedAt == date && told.answer == answer)
            #expect(revoked.date(ofAnyOf: try bench.authority.chain) == date)
            bench.responder.answer = .ocsp(try bench.answer())
            let others = RevokedCertificates { learnt.add($0) }
            #expect(try await bench.leafStatus(bench.checker(revoked: others)) == .good)
            #expect(learnt.all.count == 1 && others.isEmpty)
        }
    }

    @Test("what is stored is revoked for a process that never asked, whatever the responder says or does not say")
    func stored() async throws {
        try await Bench.run { bench in
            let revoked = RevokedCertificates()
            let date = Date(timeIntervalSince1970: 1_700_000_000)
            revoked.use(stored: [try fingerprint(bench): date])
            for answer in [Responder.Answer.status(503), .close, .ocsp(try bench.answer())] {
                bench.responder.answer = answer
                #expect(try await bench.leafStatus(bench.checker(revoked: revoked)) == .revoked(at: date))
            }
            #expect(bench.responder.requests.isEmpty)
            // Of a chain it wins over what nobody knows of the other certificate.
            bench.responder.answer = .status(503)
            let status = await bench.checker(revoked: revoked).status(ofChain: try bench.authority.chain)
            #expect(status == .revoked(at: date))
        }
    }

    @Test("what is taken out of what is stored is asked about anew; what was never stored stays")
    func takenBack() async throws {
        try await Bench.run { bench in
            let revoked = RevokedCertificates()
            let checker = bench.checker(revoked: revoked)
            let date = bench.clock.now - 10
            bench.responder.answer = .ocsp(try bench.answer { $0.single.standing = .revoked(date) })
            #expect(try await bench.leafStatus(checker) == .revoked(at: date))
            // A look at the table before the row was written.
            revoked.use(stored: [:])
            #expect(try await bench.leafStatus(checker) == .revoked(at: date))
            revoked.use(stored: [try fingerprint(bench): date])
            bench.responder.answer = .ocsp(try bench.answer())
            #expect(try await bench.leafStatus(checker) == .revoked(at: date))
            #expect(bench.responder.requests.count == 1)
            revoked.use(stored: [:])
            #expect(try await bench.leafStatus(checker) == .good)
            #expect(bench.responder.requests.count == 2)
        }
    }
}
