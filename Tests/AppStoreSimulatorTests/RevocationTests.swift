import Crypto
import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import Testing
import X509

@testable import AppStoreSimulator

@Suite("OCSP")
struct RevocationTests {
    private let bench: ForgeryBench
    private let leaf: RevocationQuestion
    private let intermediate: RevocationQuestion

    init() throws {
        bench = try ForgeryBench()
        let authority = bench.authority
        leaf = RevocationQuestion(certificates: [(authority.leaf, authority.intermediate)])
        intermediate = RevocationQuestion(certificates: [(authority.intermediate, authority.root)])
    }

    private func ask(_ question: RevocationQuestion) async throws -> RevocationAnswer {
        try await ask(bytes: try question.encoded())
    }

    private func ask(bytes: [UInt8]) async throws -> RevocationAnswer {
        let response = try await bench.request(.post, RevocationRoutes.path, body: ByteBuffer(bytes: bytes))
        #expect(response.status == .ok)
        #expect(response.headers[.contentType] == "application/ocsp-response")
        return try RevocationAnswer(Array(response.body.readableBytesView))
    }

    private func set(_ body: String) async throws {
        let response = try await bench.request(
            .put, "/simulator/v1/revocation", body: ByteBuffer(string: body))
        #expect(response.status == .ok, "\(String(buffer: response.body))")
    }

    @Test("each certificate is good, as its issuer signs")
    func good() async throws {
        let answers = [
            (try await ask(leaf), bench.authority.intermediateKey),
            (try await ask(intermediate), bench.authority.rootKey),
        ]
        for (answer, key) in answers {
            #expect(answer.status == 0)
            #expect(answer.statuses == [0])
            #expect(try answer.isSigned(by: key.publicKey))
            #expect(answer.thisUpdate <= Date() && answer.nextUpdate > Date())
        }
        await bench.close()
    }

    @Test("leaf and intermediate can be revoked or unknown, each for itself, and made good again")
    func revoked() async throws {
        try await set(#"{"leaf":"revoked"}"#)
        #expect(try await ask(leaf).statuses == [1])
        #expect(try await ask(intermediate).statuses == [0])
        try await set(#"{"intermediate":"unknown"}"#)
        #expect(try await ask(leaf).statuses == [1])
        #expect(try await ask(intermediate).statuses == [2])
        let response = try await bench.request(.get, "/simulator/v1/revocation")
        #expect(String(buffer: response.body) == #"{"leaf":"revoked","intermediate":"unknown","responder":"up"}"#)
        try await set(#"{"leaf":"good","intermediate":"good"}"#)
        #expect(try await ask(leaf).statuses == [0])
        #expect(try await ask(intermediate).statuses == [0])
        await bench.close()
    }

    @Test("a nonce comes back, and one that is too long is refused")
    func nonce() async throws {
        var question = leaf
        let nonce = Array("a nonce of this question's own".utf8)
        question.nonce = nonce
        let answer = try await ask(question)
        #expect(Data(answer.content).range(of: Data(nonce)) != nil)
        #expect(Data(try await ask(leaf).content).range(of: Data(nonce)) == nil)
        question.nonce = [UInt8](repeating: 7, count: 200)
        #expect(try await ask(question).status == 1)
        await bench.close()
    }

    @Test("certificates of others, and of another issuer in one question, are told apart")
    func issuers() async throws {
        let stranger = try CertificateAuthority(now: Date())
        let foreign = RevocationQuestion(certificates: [(stranger.leaf, stranger.intermediate)])
        #expect(try await ask(foreign).status == 6)
        let authority = bench.authority
        let mixed = RevocationQuestion(certificates: [
            (authority.leaf, authority.intermediate), (authority.intermediate, authority.root),
            (stranger.leaf, stranger.intermediate), (authority.leaf, authority.intermediate),
        ])
        let answer = try await ask(mixed)
        #expect(answer.statuses == [0, 2, 2, 0])
        #expect(try answer.isSigned(by: authority.intermediateKey.publicKey))
        // One that was issued before, or by a forger with the authority's key, counts by its issuer.
        let other = try authority.chain(replacingLeaf: .leaf, now: Date()).leaf
        #expect(
            try await ask(RevocationQuestion(certificates: [(other, authority.intermediate)])).statuses == [0])
        await bench.close()
    }

    @Test("what is no question is malformed, wherever it breaks off")
    func malformed() async throws {
        let question = try leaf.encoded()
        for bytes in [[], [0x30], [0x30, 0x80], Array("leaf?".utf8), question + [0], question.reversed()] as [[UInt8]] {
            #expect(try await ask(bytes: bytes).status == 1)
        }
        for count in stride(from: 0, to: question.count, by: 3) {
            #expect(try await ask(bytes: Array(question.prefix(count))).status == 1)
        }
        let many = RevocationQuestion(
            certificates: Array(repeating: leaf.certificates[0], count: OCSPRequest.Limit.certificates + 1))
        #expect(try await ask(many).status == 1)
        let tooLarge = ByteBuffer(repeating: 0, count: RevocationRoutes.Limit.requestBytes + 1)
        #expect(
            try await bench.request(.post, RevocationRoutes.path, body: tooLarge).status == .contentTooLarge)
        await bench.close()
    }

    @Test("a question can be in the address, in base64 with its slashes, escaped or not")
    func get() async throws {
        // Until the base64 has a slash and a plus sign.
        var question = leaf
        var base64 = ""
        repeat {
            question.nonce = (0..<16).map { _ in UInt8.random(in: 0...255) }
            base64 = Data(try question.encoded()).base64EncodedString()
        } while !base64.contains("/") || !base64.contains("+")
        let escaped = base64.replacingOccurrences(of: "+", with: "%2B").replacingOccurrences(of: "/", with: "%2F")
            .replacingOccurrences(of: "=", with: "%3D")
        for text in [base64, escaped] {
            let response = try await bench.request(.get, "\(RevocationRoutes.path)/\(text)")
            let answer = try RevocationAnswer(Array(response.body.readableBytesView))
            #expect(answer.statuses == [0])
        }
        let response = try await bench.request(.get, "\(RevocationRoutes.path)/!")
        #expect(try RevocationAnswer(Array(response.body.readableBytesView)).status == 1)
        await bench.close()
    }

    @Test("the responder fails as it is told")
    func failures() async throws {
        try await set(#"{"responder":"tryLater"}"#)
        #expect(try await ask(leaf).status == 3)
        for behavior in ["error", "unreachable"] {
            try await set(#"{"responder":"\#(behavior)"}"#)
            let response = try await bench.request(
                .post, RevocationRoutes.path, body: ByteBuffer(bytes: try leaf.encoded()))
            #expect(response.status == .serviceUnavailable)
        }
        try await set(#"{"responder":"up"}"#)
        #expect(try await ask(leaf).statuses == [0])
        await bench.close()
    }

    @Test(
        "a setting that does not exist is a problem that names those that do",
        arguments: [#"{"leaf":"bad"}"#, #"{"responder":"down"}"#, #"{"intermediate":1}"#, "[]"])
    func bad(_ body: String) async throws {
        let response = try await bench.request(.put, "/simulator/v1/revocation", body: ByteBuffer(string: body))
        #expect(response.status == .badRequest)
        #expect(String(buffer: response.body).contains("unreachable"))
        await bench.close()
    }
}
