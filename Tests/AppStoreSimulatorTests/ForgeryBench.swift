import AppStore
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Testing

@testable import AppStoreSimulator

/// The hostile menu over a store that forgets, without sockets.
final class ForgeryBench: Sendable {
    let authority: CertificateAuthority
    let receipts: ReceiptAuthority
    let store: Store
    let responder: RouterResponder<BasicRequestContext>

    init(clock: VirtualClock = VirtualClock()) throws {
        authority = try CertificateAuthority(now: Date())
        receipts = try #require(Simulator.receipts)
        let signer = try PayloadSigner(chain: authority.chain)
        store = try Store(file: nil, signer: signer, clock: clock)
        let router = Router(context: BasicRequestContext.self)
        router.add(middleware: ProblemMiddleware())
        let group = router.group("simulator/v1")
        ForgeryRoutes(
            store: store, signer: signer, workshop: try ForgeryWorkshop(authority: authority), receipts: receipts
        ).addRoutes(to: group)
        responder = router.buildResponder()
    }

    func close() async {
        await store.close()
    }

    func roots() throws -> TrustedRoots {
        try TrustedRoots(fingerprints: [try CertificateAuthority.fingerprint(of: authority.root)])
    }

    func request(
        _ method: HTTPRequest.Method, _ path: String, body: ByteBuffer? = nil
    ) async throws -> TestResponse {
        try await Application(responder: responder).test(.router) { client in
            try await client.execute(uri: path, method: method, body: body)
        }
    }

    /// The answer to a request that must succeed.
    func post<Answer: Decodable>(_ path: String, _ body: String, as type: Answer.Type) async throws -> Answer {
        let response = try await request(.post, "/simulator/v1/\(path)", body: ByteBuffer(string: body))
        try #require(response.status == .ok, "\(path): \(String(buffer: response.body))")
        return try JSONDecoder().decode(Answer.self, from: Data(response.body.readableBytesView))
    }

    static func menu(of response: TestResponse) throws -> Menu {
        try JSONDecoder().decode(Menu.self, from: Data(response.body.readableBytesView))
    }

    struct Menu: Decodable {
        struct Kind: Decodable {
            let kind: String
            let expectedRejection: String
            let what: String
        }
        struct Attack: Decodable {
            let kind: String
            let what: String
            let goodBackend: String
        }
        let kinds: [Kind]
        let attacks: [Attack]
    }

    struct Forged: Decodable {
        let kind: String
        let expectedRejection: String
        let transactionId: String
        let signedTransaction: String
    }

    struct Attacked: Decodable {
        struct Artefact: Decodable {
            let type: String
            let value: String
            let times: Int?
        }
        let kind: String
        let goodBackend: String
        let artefacts: [Artefact]
    }
}

/// The code with which a verifier refuses; nil when it does not.
func rejectionCode<Success>(_ result: Result<Success, SignedDataRejection>) -> String? {
    if case .failure(let rejection) = result { rejection.code.rawValue } else { nil }
}
