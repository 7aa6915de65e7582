import AppStore
import AsyncHTTPClient
import CertificateRevocation
import Crypto
import Foundation
import NIOCore
import NIOHTTP1
import SimulatorTesting
import Testing

/// The real simulator as a process of its own, whose certificates name its responder.
@Suite("With the simulator", .timeLimit(.minutes(2)))
struct SimulatorTests {
    private static let missing: Comment =
        "SKIPPED: COUNTERSIGN_BIN_DIR does not name the folder of app-store-simulator"

    private struct Sale: Decodable {
        struct Transaction: Decodable { let signedTransaction: String }
        let transactions: [Transaction]
    }

    /// Runs the body with the chain of something that was sold, as its JWS has it, and with the control API.
    private func withSale(_ body: ([[UInt8]], SimulatorProcess) async throws -> Void) async throws {
        try await SimulatorProcess.run { simulator in
            try await simulator.control(.PUT, "apps/com.example.game", #"{"appAppleId":1,"isReleased":true}"#)
            let sale = try await simulator.control(
                .POST, "sales",
                #"{"bundleId":"com.example.game","productId":"coins","type":"Consumable","environment":"Production"}"#,
                as: Sale.self)
            let jws = Array(try #require(sale.transactions.first).signedTransaction.utf8)
            let root = SHA256.hash(data: try await simulator.bytes(.GET, "root"))
            let fingerprint = root.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
            let verifier = SignedDataVerifier(roots: try TrustedRoots(fingerprints: [fingerprint]))
            _ = try verifier.transaction(jws, app: AppIdentity(bundleId: "com.example.game")).get()
            try await body(try #require(verifier.certificates(of: jws)), simulator)
        }
    }

    @Test(
        "the chain of a purchase is good, revoked or unknown as the responder says",
        .enabled(if: SimulatorProcess.isThere, missing))
    func chain() async throws {
        try await withSale { chain, simulator in
            func status(_ json: String) async throws -> RevocationStatus {
                try await simulator.control(.PUT, "revocation", json)
                // One that remembers nothing of the setting before.
                return await RevocationChecker(http: .shared, settings: .init(timeout: .seconds(2)))
                    .status(ofChain: chain)
            }
            #expect(try await status("{}") == .good)
            for name in ["leaf", "intermediate"] {
                let before = Date() - 1
                guard case .revoked(let date) = try await status(#"{"\#(name)":"revoked"}"#) else {
                    Issue.record("a revoked \(name) is not revoked")
                    continue
                }
                #expect(date >= before && date <= Date())
                let unknown = try await status(#"{"\#(name)":"unknown"}"#)
                #expect(unknown == .unknown("the responder does not know the certificate"))
                #expect(try await status(#"{"\#(name)":"good"}"#) == .good)
            }
            for (behavior, reason) in [
                ("tryLater", "the responder says to try later"), ("error", "the responder answered HTTP 503"),
                ("slow", "no whole answer from the responder"), ("unreachable", "no whole answer from the responder"),
            ] {
                guard case .unknown(let found) = try await status(#"{"responder":"\#(behavior)"}"#) else {
                    Issue.record("a responder that is \(behavior) had an answer")
                    continue
                }
                #expect(found.hasPrefix(reason))
            }
            #expect(try await status(#"{"responder":"up"}"#) == .good)
            let responder = "\(simulator.addresses.control)/simulator/ocsp"
            // Of what others issued it says nothing.
            let foreign = await RevocationChecker(http: .shared, settings: .init(responder: responder))
                .status(ofChain: try Authority().chain)
            #expect(foreign == .unknown("the responder is not authorised to answer"))
            for junk in [[], [0x30], [0x30, 0x80], Array("leaf?".utf8)] as [[UInt8]] {
                var request = HTTPClientRequest(url: responder)
                request.method = .POST
                request.body = .bytes(junk)
                let answer = try await HTTPClient.shared.execute(request, timeout: .seconds(10)).body.collect(upTo: 100)
                #expect(Array(answer.readableBytesView) == [0x30, 3, 0x0A, 1, 1], "malformedRequest")
            }
        }
    }

    @Test(
        "good counts on while the responder is away, and everything comes right when it is back",
        .enabled(if: SimulatorProcess.isThere, missing))
    func memory() async throws {
        try await withSale { chain, simulator in
            let checker = RevocationChecker(
                http: .shared, settings: .init(failureMemory: .zero, answerLifetimeMaximum: .zero))
            try await simulator.control(.PUT, "revocation", #"{"responder":"error"}"#)
            #expect(await checker.status(ofChain: chain) == .unknown("the responder answered HTTP 503"))
            try await simulator.control(.PUT, "revocation", #"{"responder":"up"}"#)
            #expect(await checker.status(ofChain: chain) == .good)
            try await simulator.control(.PUT, "revocation", #"{"responder":"unreachable"}"#)
            for _ in 0..<3 { #expect(await checker.status(ofChain: chain) == .good) }
            try await simulator.control(.PUT, "revocation", #"{"responder":"up","leaf":"revoked"}"#)
            var status = await checker.status(ofChain: chain)
            while status == .good {
                // After a failure the question is asked in the background; there is no signal of its end.
                try await Task.sleep(for: .milliseconds(10))
                status = await checker.status(ofChain: chain)
            }
            guard case .revoked = status else {
                Issue.record("\(status)")
                return
            }
        }
    }
}
