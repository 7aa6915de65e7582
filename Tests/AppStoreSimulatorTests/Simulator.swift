import AppStore
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Synchronization
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
        let outcome: String
        let transactions: [Transaction]
        let deferredId: String?
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
    /// Made once: RSA keys cost a second.
    static let receipts = try? ReceiptAuthority(now: Date())

    /// - Parameters:
    ///   - folder: another simulator's, to go on with; nil for a new one, which is removed at the end.
    ///   - clock: the store's time; ours when nothing is said.
    init(folder: URL? = nil, clock: VirtualClock = VirtualClock()) throws {
        ownsFolder = folder == nil
        self.folder =
            folder ?? FileManager.default.temporaryDirectory.appendingPathComponent("simulator-\(UUID().uuidString)")
        assembly = try Assembly(
            .init(stateDirectory: self.folder.path), clock: clock, receipts: Self.receipts)
    }

    deinit {
        let resources = assembly.resources
        Task { await resources.close() }
        if ownsFolder { try? FileManager.default.removeItem(at: folder) }
    }

    func roots() throws -> TrustedRoots {
        let text = try String(contentsOf: folder.appendingPathComponent("root.sha256"), encoding: .utf8)
        return try TrustedRoots(fingerprints: [text.trimmingCharacters(in: .newlines)])
    }

    /// Calls the control API.
    func request(_ method: HTTPRequest.Method, _ path: String, body: String? = nil) async throws -> TestResponse {
        try await Self.request(assembly.router, method, path, body: body)
    }

    /// Calls one of Apple's two hosts.
    func request(
        host: StoreEnvironment, _ method: HTTPRequest.Method, _ path: String, headers: HTTPFields = [:],
        body: String? = nil
    ) async throws -> TestResponse {
        let router = host == .production ? assembly.production : assembly.sandbox
        return try await Self.request(router, method, path, headers: headers, body: body)
    }

    private static func request(
        _ router: Router<BasicRequestContext>, _ method: HTTPRequest.Method, _ path: String, headers: HTTPFields = [:],
        body: String?
    ) async throws -> TestResponse {
        try await Application(router: router).test(.router) { client in
            try await client.execute(
                uri: path, method: method, headers: headers, body: body.map { ByteBuffer(string: $0) })
        }
    }

    /// Calls the control API below `/simulator/v1/` and requires 200.
    @discardableResult
    func control(_ method: HTTPRequest.Method, _ path: String, _ body: String? = nil) async throws -> Data {
        let response = try await request(method, "/simulator/v1/\(path)", body: body)
        try #require(response.status == .ok, "\(method) \(path): \(String(buffer: response.body))")
        return response.json
    }

    func sale(_ body: String) async throws -> Sold {
        try JSONDecoder().decode(Sold.self, from: try await control(.post, "sales", body))
    }

    func sell(_ body: String) async throws -> [Sold.Transaction] {
        try await sale(body).transactions
    }
}

/// Real time that stands still until a test moves it.
final class SteppedTime: Sendable {
    /// 2026-01-01T00:00:00Z.
    static let start: Int64 = 1_767_225_600_000

    private let milliseconds: Mutex<Int64>

    init(_ start: Int64 = SteppedTime.start) {
        milliseconds = Mutex(start)
    }

    func step(_ span: Int64) { milliseconds.withLock { $0 += span } }

    /// A clock that reads this time.
    func clock() -> VirtualClock {
        VirtualClock(real: { self.milliseconds.withLock { $0 } })
    }
}

extension TestResponse {
    var json: Data { Data(body.readableBytesView) }
}

func code<Success>(_ result: Result<Success, SignedDataRejection>) -> String? {
    if case .failure(let rejection) = result { rejection.code.rawValue } else { nil }
}
