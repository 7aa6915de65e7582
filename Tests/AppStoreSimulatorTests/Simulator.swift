import AppStore
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Testing

@testable import AppStoreSimulator

/// A simulator in a folder of its own, without a socket.
struct Simulator: ~Copyable {
    struct Sold: Decodable, Sendable {
        struct Transaction: Decodable, Sendable {
            let transactionId: String
            let originalTransactionId: String
            let signedTransaction: String
        }
        let transactions: [Transaction]
    }

    struct Forged: Decodable, Sendable {
        let kind: String
        let expectedRejection: String
        let transactionId: String
        let signedTransaction: String
    }

    struct ProblemDetails: Decodable, Sendable {
        let type: String
        let title: String
        let status: Int
        let detail: String
    }

    let folder: URL
    let assembly: Assembly

    private let ownsFolder: Bool

    /// - Parameter folder: another simulator's, to go on with; nil for a new one, which is removed at the end.
    init(folder: URL? = nil) throws {
        ownsFolder = folder == nil
        self.folder =
            folder ?? FileManager.default.temporaryDirectory.appendingPathComponent("simulator-\(UUID().uuidString)")
        assembly = try Assembly(stateDirectory: self.folder.path)
    }

    deinit {
        assembly.identifiers.stop()
        if ownsFolder { try? FileManager.default.removeItem(at: folder) }
    }

    func roots() throws -> TrustedRoots {
        let text = try String(contentsOf: folder.appendingPathComponent("root.sha256"), encoding: .utf8)
        return try TrustedRoots(fingerprints: [text.trimmingCharacters(in: .newlines)])
    }

    func request(_ method: HTTPRequest.Method, _ path: String, body: String? = nil) async throws -> TestResponse {
        let application = Application(router: assembly.router)
        return try await application.test(.router) { client in
            try await client.execute(uri: path, method: method, body: body.map { ByteBuffer(string: $0) })
        }
    }

    func sell(_ body: String) async throws -> [Sold.Transaction] {
        let response = try await request(.post, "/simulator/v1/sales", body: body)
        try #require(response.status == .ok, "\(String(buffer: response.body))")
        return try JSONDecoder().decode(Sold.self, from: response.json).transactions
    }
}

extension TestResponse {
    var json: Data { Data(body.readableBytesView) }
}

func code<Success>(_ result: Result<Success, SignedDataRejection>) -> String? {
    if case .failure(let rejection) = result { rejection.code.rawValue } else { nil }
}
