import AsyncHTTPClient
import CertificateRevocation
import Foundation
import ServerTesting
import Synchronization
import X509

/// A clock that goes when a test says so.
final class TestClock: Sendable {
    private let date = Mutex(Authority.now)

    var now: Date { date.withLock { $0 } }

    func advance(by seconds: TimeInterval) {
        date.withLock { $0 += seconds }
    }
}

/// How many have come so far.
final class Tally: Sendable {
    private let state = Mutex(0)

    var count: Int { state.withLock { $0 } }

    func add() {
        state.withLock { $0 += 1 }
    }
}

/// An authority, a responder over a socket, and a checker that asks it.
struct Bench {
    let authority: Authority
    let responder: Responder
    let url: String
    let http: HTTPClient
    let clock = TestClock()

    /// Runs the body; the authority is the shared one unless another is given.
    static func run<Result>(
        _ authority: Authority? = Authority.shared, _ body: (Bench) async throws -> Result
    ) async throws -> Result {
        guard let authority else { throw CancellationError() }
        return try await Responder.with { responder, url, http in
            try await body(Bench(authority: authority, responder: responder, url: url, http: http))
        }
    }

    /// A checker that remembers nothing yet.
    func checker(
        timeout: Duration = .seconds(30), failureMemory: Duration = .seconds(5), certificatesMaximum: Int = 1_000,
        revoked: RevokedCertificates = RevokedCertificates()
    ) -> RevocationChecker {
        RevocationChecker(
            http: http,
            settings: .init(
                responder: url, timeout: timeout, failureMemory: failureMemory,
                certificatesMaximum: certificatesMaximum),
            revoked: revoked, now: { [clock] in clock.now })
    }

    /// A good answer about the leaf as of now, changed by a test.
    func answer(_ change: (inout AnswerDraft) throws -> Void = { _ in }) throws -> [UInt8] {
        var draft = AnswerDraft(about: authority.leaf.certificate, issuer: authority.intermediate)
        draft.producedAt = clock.now - 60
        draft.single.thisUpdate = clock.now - 60
        draft.single.nextUpdate = clock.now + 3_600
        try change(&draft)
        return try draft.encoded()
    }

    /// What a checker says of the leaf.
    func leafStatus(_ checker: RevocationChecker) async throws -> RevocationStatus {
        await checker.status(of: try authority.leaf.encoded, issuer: try authority.intermediate.encoded)
    }

    /// What a new checker says of the leaf when it gets an answer.
    func verdict(on answer: Responder.Answer) async throws -> RevocationStatus {
        responder.answer = answer
        return try await leafStatus(checker())
    }

    func verdict(_ change: (inout AnswerDraft) throws -> Void) async throws -> RevocationStatus {
        try await verdict(on: .ocsp(try answer(change)))
    }
}
