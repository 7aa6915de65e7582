import AsyncHTTPClient
import CertificateRevocation
import Foundation
import ServerTesting
import Testing
import X509

/// Where the question goes, and what may happen to it on its way.
@Suite("Asking over HTTP")
struct ExchangeTests {
    @Test("other statuses, redirects, and connections that close are unknown")
    func failures() async throws {
        try await Bench.run { bench in
            for status in [204, 404, 429, 500, 503] {
                #expect(
                    try await bench.verdict(on: .status(status)) == .unknown("the responder answered HTTP \(status)"))
            }
            #expect(try await bench.verdict(on: .redirect(bench.url)) == .unknown("the responder answered HTTP 302"))
            let requests = bench.responder.requests.count
            guard case .unknown(let reason) = try await bench.verdict(on: .close) else {
                Issue.record("a closed connection was no failure")
                return
            }
            #expect(reason.hasPrefix("no whole answer from the responder"))
            #expect(bench.responder.requests.count > requests)
        }
    }

    @Test("an answer that is too long, or never whole, is given up")
    func sizes() async throws {
        try await Bench.run { bench in
            let limit = 64 << 10
            for size in [limit + 1, 1 << 20] {
                let verdict = try await bench.verdict(on: .ocsp([UInt8](repeating: 0, count: size)))
                #expect(verdict == .unknown("the answer has more than \(limit) bytes"))
            }
            let largest = try await bench.verdict(on: .ocsp([UInt8](repeating: 0, count: limit)))
            #expect(largest == .unknown("the answer cannot be read"))
            for answer in [Responder.Answer.held, .partial(try bench.answer())] {
                bench.responder.answer = answer
                let status = try await bench.leafStatus(bench.checker(timeout: .milliseconds(300)))
                guard case .unknown(let reason) = status else {
                    Issue.record("\(answer): \(status)")
                    continue
                }
                #expect(reason.hasPrefix("no whole answer from the responder"))
            }
        }
    }

    @Test("the responder is the first http one that the certificate names; others are not asked")
    func addresses() async throws {
        try await Responder.with { responder, url, http in
            func status(_ locations: [String], responder override: String? = nil) async throws -> RevocationStatus {
                let authority = try Authority(locations: locations)
                responder.answer = .ocsp(
                    try AnswerDraft(about: authority.leaf.certificate, issuer: authority.intermediate).encoded())
                let checker = RevocationChecker(
                    http: http, settings: .init(responder: override), now: { Authority.now })
                return await checker.status(
                    of: try authority.leaf.encoded, issuer: try authority.intermediate.encoded)
            }
            #expect(try await status([url]) == .good)
            #expect(try await status(["ldap://127.0.0.1/ocsp", "file:///etc/hosts", "http://", "", url]) == .good)
            #expect(try await status(["http://127.0.0.1:9/"], responder: url) == .good)
            #expect(try await status([]) == .noResponder)
            let other = try await status(["ftp://127.0.0.1/ocsp", "unix:///socket", url + " x"])
            #expect(other == .unknown("the certificate names no responder with an http URL"))
            let override = try await status([url], responder: "127.0.0.1")
            #expect(override == .unknown("the responder of the settings is no http URL"))
            #expect(responder.requests.count == 3)
        }
    }

    @Test("nothing is asked about what is no certificate, or of another issuer")
    func certificates() async throws {
        try await Bench.run { bench in
            let leaf = try bench.authority.leaf.encoded
            let intermediate = try bench.authority.intermediate.encoded
            bench.responder.answer = .ocsp(try bench.answer())
            let checker = bench.checker()
            for (certificate, issuer) in [
                ([], intermediate), (leaf, []), (leaf + [0], intermediate), (Array(leaf.dropLast()), intermediate),
                (Array("leaf".utf8), intermediate),
            ] {
                let status = await checker.status(of: certificate, issuer: issuer)
                #expect(status == .unknown("a certificate cannot be read"))
            }
            let status = await checker.status(of: leaf, issuer: try bench.authority.root.encoded)
            #expect(status == .unknown("the certificate was issued by somebody else"))
            let large = await checker.status(of: [UInt8](repeating: 0x30, count: 8_193), issuer: intermediate)
            #expect(large == .unknown("a certificate is larger than 8192 bytes"))
            #expect(bench.responder.requests.isEmpty)
        }
    }
}
