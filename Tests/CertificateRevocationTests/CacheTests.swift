import CertificateRevocation
import Foundation
import ServerTesting
import Testing
import X509

/// What is remembered, and for how long.
@Suite("Remembering answers", .timeLimit(.minutes(2)))
struct CacheTests {
    @Test("a hundred who ask at once are one question, whether it is answered or fails")
    func singleFlight() async throws {
        try await Bench.run { bench in
            for (index, answer) in [Responder.Answer.ocsp(try bench.answer()), .status(500)].enumerated() {
                bench.responder.answer = .held
                let checker = bench.checker()
                let statuses = try await withThrowingTaskGroup(of: RevocationStatus.self) { group in
                    let begun = Tally()
                    for _ in 0..<100 {
                        group.addTask {
                            begun.add()
                            return try await bench.leafStatus(checker)
                        }
                    }
                    await bench.responder.waitForRequests(index + 1)
                    // Most have begun now and wait; who comes later is told what is remembered.
                    while begun.count < 100 { await Task.yield() }
                    bench.responder.release(answer)
                    return try await group.reduce(into: [RevocationStatus]()) { $0.append($1) }
                }
                #expect(statuses.count == 100 && Set(statuses).count == 1)
                #expect(statuses.first == (index == 0 ? .good : .unknown("the responder answered HTTP 500")))
                #expect(bench.responder.requests.count == index + 1)
            }
        }
    }

    @Test("an answer is not asked for again until its end, and renewed in the background before it")
    func lifetime() async throws {
        try await Bench.run { bench in
            let checker = bench.checker()
            bench.responder.answer = .ocsp(try bench.answer())
            for _ in 0..<50 { #expect(try await bench.leafStatus(checker) == .good) }
            bench.clock.advance(by: 2_699)
            #expect(try await bench.leafStatus(checker) == .good)
            #expect(bench.responder.requests.count == 1)
            // Three quarters of its life are over.
            bench.clock.advance(by: 1)
            bench.responder.answer = .held
            for _ in 0..<50 { #expect(try await bench.leafStatus(checker) == .good) }
            await bench.responder.waitForRequests(2)
            bench.responder.release(.ocsp(try bench.answer()))
            bench.clock.advance(by: 900)
            #expect(try await bench.leafStatus(checker) == .good)
            #expect(bench.responder.requests.count == 2)
        }
    }

    @Test("after its end a new answer is waited for, and a revocation is seen")
    func end() async throws {
        try await Bench.run { bench in
            let checker = bench.checker()
            bench.responder.answer = .ocsp(try bench.answer())
            #expect(try await bench.leafStatus(checker) == .good)
            bench.clock.advance(by: 3_600)
            let date = bench.clock.now - 10
            bench.responder.answer = .ocsp(try bench.answer { $0.single.standing = .revoked(date) })
            #expect(try await bench.leafStatus(checker) == .revoked(at: date))
            #expect(bench.responder.requests.count == 2)
        }
    }

    @Test("an answer counts for a week at most, and one without an end for five minutes")
    func lifetimeMaximum() async throws {
        try await Bench.run { bench in
            for (nextUpdate, lifetime) in [(Authority.now + 1e9, 604_800), (nil, 240)] as [(Date?, TimeInterval)] {
                let checker = bench.checker()
                let start = bench.clock.now
                bench.responder.answer = .ocsp(try bench.answer { $0.single.nextUpdate = nextUpdate })
                #expect(try await bench.leafStatus(checker) == .good)
                let date = start - 10
                bench.clock.advance(by: lifetime)
                // Nothing that is remembered counts: it waits for what is said now.
                bench.responder.answer = .ocsp(try bench.answer { $0.single.standing = .revoked(date) })
                #expect(try await bench.leafStatus(checker) == .revoked(at: date))
            }
        }
    }

    @Test("while no new answer can be had, good counts on for a day, and nobody waits twice for a dead responder")
    func grace() async throws {
        try await Bench.run { bench in
            let checker = bench.checker()
            bench.responder.answer = .ocsp(try bench.answer())
            #expect(try await bench.leafStatus(checker) == .good)
            bench.clock.advance(by: 3_600)
            bench.responder.answer = .status(503)
            for _ in 0..<50 { #expect(try await bench.leafStatus(checker) == .good) }
            #expect(bench.responder.requests.count == 2)
            // The failure is forgotten: it is asked again, but there is something to go by meanwhile.
            bench.clock.advance(by: 5)
            bench.responder.answer = .held
            for _ in 0..<50 { #expect(try await bench.leafStatus(checker) == .good) }
            await bench.responder.waitForRequests(3)
            bench.clock.advance(by: 86_400 - 6)
            #expect(try await bench.leafStatus(checker) == .good)
            bench.clock.advance(by: 1)
            bench.responder.release(.status(503))
            #expect(try await bench.leafStatus(checker) == .unknown("the responder answered HTTP 503"))
            #expect(bench.responder.requests.count == 3)
            // And it is good again when it can be had again.
            bench.clock.advance(by: 5)
            bench.responder.answer = .ocsp(try bench.answer())
            #expect(try await bench.leafStatus(checker) == .good)
        }
    }

    @Test("revoked counts for ever, whatever could be answered later, and nobody is asked about it again")
    func revoked() async throws {
        try await Bench.run { bench in
            for kind in 0..<5 {
                let checker = bench.checker(failureMemory: .zero)
                let date = bench.clock.now - 10
                bench.responder.answer = .ocsp(try bench.answer { $0.single.standing = .revoked(date) })
                #expect(try await bench.leafStatus(checker) == .revoked(at: date))
                bench.clock.advance(by: 4_000)
                let requests = bench.responder.requests.count
                bench.responder.answer =
                    switch kind {
                    case 0: .ocsp(try bench.answer())
                    case 1: .status(503)
                    case 2: .close
                    case 3: .ocsp(AnswerDraft.status(6))
                    default: .ocsp(try bench.answer { $0.single.standing = .unknown })
                    }
                #expect(try await bench.leafStatus(checker) == .revoked(at: date))
                bench.clock.advance(by: 1e6)
                #expect(try await bench.leafStatus(checker) == .revoked(at: date))
                #expect(bench.responder.requests.count == requests)
            }
        }
    }

    @Test("a responder that does not know the certificate takes good back")
    func notKnown() async throws {
        try await Bench.run { bench in
            let checker = bench.checker()
            bench.responder.answer = .ocsp(try bench.answer())
            #expect(try await bench.leafStatus(checker) == .good)
            bench.clock.advance(by: 3_600)
            bench.responder.answer = .ocsp(try bench.answer { $0.single.standing = .unknown })
            for _ in 0..<3 {
                let status = try await bench.leafStatus(checker)
                #expect(status == .unknown("the responder does not know the certificate"))
            }
            #expect(bench.responder.requests.count == 2)
        }
    }

    @Test("a failure is remembered for five seconds")
    func failureMemory() async throws {
        try await Bench.run { bench in
            let checker = bench.checker()
            bench.responder.answer = .ocsp(AnswerDraft.status(3))
            let reason = RevocationStatus.unknown("the responder says to try later")
            for _ in 0..<50 { #expect(try await bench.leafStatus(checker) == reason) }
            bench.clock.advance(by: 4)
            bench.responder.answer = .ocsp(try bench.answer())
            #expect(try await bench.leafStatus(checker) == reason)
            #expect(bench.responder.requests.count == 1)
            bench.clock.advance(by: 1)
            #expect(try await bench.leafStatus(checker) == .good)
            #expect(bench.responder.requests.count == 2)
        }
    }

    @Test("a clock that is set back makes no answer and no failure live longer")
    func clock() async throws {
        try await Bench.run { bench in
            let checker = bench.checker()
            bench.responder.answer = .status(503)
            _ = try await bench.leafStatus(checker)
            bench.clock.advance(by: -1_000)
            bench.responder.answer = .ocsp(try bench.answer())
            #expect(try await bench.leafStatus(checker) == .good)
            bench.clock.advance(by: -1_000)
            bench.responder.answer = .ocsp(try bench.answer { $0.single.standing = .revoked(Authority.now) })
            #expect(try await bench.leafStatus(checker) == .revoked(at: Authority.now))
            #expect(bench.responder.requests.count == 3)
        }
    }

    @Test("who is cancelled is told so at once; the others get the answer of the same question")
    func cancellation() async throws {
        try await Bench.run { bench in
            let checker = bench.checker()
            bench.responder.answer = .held
            let impatient = Task { try await bench.leafStatus(checker) }
            await bench.responder.waitForRequests(1)
            impatient.cancel()
            #expect(try await impatient.value == .unknown("cancelled"))
            let patient = Task { try await bench.leafStatus(checker) }
            let cancelled = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return try await bench.leafStatus(checker)
            }
            #expect(try await cancelled.value == .unknown("cancelled"))
            bench.responder.release(.ocsp(try bench.answer()))
            #expect(try await patient.value == .good)
            #expect(bench.responder.requests.count == 1)
        }
    }

    @Test("beyond its capacity it forgets who was not asked about for longest, failures first and revoked last")
    func capacity() async throws {
        try await Bench.run { bench in
            let checker = bench.checker(certificatesMaximum: 3)
            let intermediate = bench.authority.intermediate
            func status(_ member: Authority.Member, _ standing: AnswerDraft.Standing?) async throws -> RevocationStatus
            {
                if let standing {
                    var draft = AnswerDraft(about: member.certificate, issuer: intermediate)
                    draft.single.standing = standing
                    bench.responder.answer = .ocsp(try draft.encoded())
                } else {
                    bench.responder.answer = .status(503)
                }
                return await checker.status(of: try member.encoded, issuer: try intermediate.encoded)
            }
            let members = try (0..<6).map { try Authority.member("Leaf \($0)", issuer: intermediate) }
            let revoked = RevocationStatus.revoked(at: Authority.now)
            #expect(try await status(members[0], .revoked(Authority.now)) == revoked)
            #expect(try await status(members[1], .good) == .good)
            #expect(try await status(members[2], nil) == .unknown("the responder answered HTTP 503"))
            // The failure makes room, then the good ones, the oldest first; the revoked one stays.
            for index in 3..<6 { #expect(try await status(members[index], .good) == .good) }
            #expect(checker.certificatesRemembered == 3)
            #expect(bench.responder.requests.count == 6)
            for index in [4, 5] { #expect(try await status(members[index], nil) == .good) }
            #expect(try await status(members[0], nil) == revoked)
            #expect(bench.responder.requests.count == 6)
            for index in [1, 2, 3] {
                #expect(try await status(members[index], nil) == .unknown("the responder answered HTTP 503"))
            }
            #expect(checker.certificatesRemembered == 3)
        }
    }

    @Test("no more than 64 questions are under way, and none is lost")
    func questionsMaximum() async throws {
        try await Bench.run { bench in
            let checker = bench.checker()
            bench.responder.answer = .held
            let intermediate = bench.authority.intermediate
            let members = try (0..<65).map { try Authority.member("Leaf \($0)", issuer: intermediate) }
            @Sendable func status(_ index: Int) async throws -> RevocationStatus {
                await checker.status(of: try members[index].encoded, issuer: try intermediate.encoded)
            }
            let tasks = (0..<64).map { index in Task { try await status(index) } }
            await bench.responder.waitForRequests(64)
            #expect(try await status(64) == .unknown("too many questions are under way"))
            bench.responder.answer = .status(503)
            bench.responder.release(.status(503))
            for task in tasks { #expect(try await task.value == .unknown("the responder answered HTTP 503")) }
            #expect(try await status(64) == .unknown("the responder answered HTTP 503"))
            #expect(checker.certificatesRemembered == 65)
        }
    }
}
