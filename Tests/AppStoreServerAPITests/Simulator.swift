import AppStoreServerAPI
import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import Testing

/// The real simulator as a process of its own, and an app that is known to it.
struct Simulator: Sendable {
    static let bundleId = "com.example.game"

    private static let folder = ProcessInfo.processInfo.environment["COUNTERSIGN_BIN_DIR"]
    private static let path = (folder ?? "") + "/app-store-simulator"

    static let missing: Comment = "SKIPPED: COUNTERSIGN_BIN_DIR is not set; it names the folder of app-store-simulator"
    static let isThere = folder != nil && FileManager.default.isExecutableFile(atPath: path)

    private struct Addresses: Decodable {
        let control: String
        let production: String
        let sandbox: String
    }

    private struct Trouble: Error, CustomStringConvertible {
        let description: String
    }

    private struct Key: Decodable {
        let issuerId: String
        let keyId: String
        let privateKey: String
    }

    private let addresses: Addresses
    private let http: HTTPClient

    var hosts: AppStoreHosts { AppStoreHosts(production: addresses.production, sandbox: addresses.sandbox + "/") }

    /// A client with its own key of the app.
    func client(limits: AppStoreServerClient.Limits = .init()) async throws -> AppStoreServerClient {
        client(key: try await key(), limits: limits)
    }

    func client(key: SigningKey, limits: AppStoreServerClient.Limits = .init()) -> AppStoreServerClient {
        AppStoreServerClient(http: http, key: key, bundleId: Self.bundleId, hosts: hosts, limits: limits)
    }

    func key() async throws -> SigningKey {
        let key = try await control(.POST, "apps/\(Self.bundleId)/keys", as: Key.self)
        return try SigningKey(issuerId: key.issuerId, keyId: key.keyId, pem: key.privateKey)
    }

    /// Calls the control API, which must succeed.
    @discardableResult
    func control<Value: Decodable>(
        _ method: HTTPMethod, _ path: String, _ json: String? = nil, as type: Value.Type = Anything.self
    ) async throws -> Value {
        var request = HTTPClientRequest(url: "\(addresses.control)/simulator/v1/\(path)")
        request.method = method
        if let json { request.body = .bytes(ByteBuffer(string: json)) }
        let response = try await http.execute(request, timeout: .seconds(60))
        let body = try await response.body.collect(upTo: 64 << 20)
        guard response.status == .ok || response.status == .created else {
            throw Trouble(description: "\(method) \(path): \(response.status) \(String(buffer: body))")
        }
        return try JSONDecoder().decode(type, from: Data(body.readableBytesView))
    }

    /// An answer that nobody looks at.
    struct Anything: Decodable {}

    /// One rule of misbehaviour for all calls, instead of the rules before.
    func misbehave(_ fault: String, count: Int? = nil) async throws {
        let count = count.map { ",\"count\":\($0)" } ?? ""
        try await control(.PUT, "faults", "{\"rules\":[{\"fault\":\(fault)\(count)}]}")
    }

    func behave() async throws {
        try await control(.DELETE, "faults")
    }

    struct Sold: Decodable, Sendable {
        let transactionId: String
        let originalTransactionId: String
        let signedTransaction: String
    }

    /// Sells something and says which transactions it made.
    func sell(
        _ productId: String, type: String = "Consumable", environment: AppStoreEnvironment = .production,
        more: String = ""
    ) async throws -> [Sold] {
        struct Sale: Decodable { let transactions: [Sold] }
        let sale = try await control(
            .POST, "sales",
            "{\"bundleId\":\"\(Self.bundleId)\",\"productId\":\"\(productId)\",\"type\":\"\(type)\","
                + "\"environment\":\"\(environment.rawValue)\"\(more)}", as: Sale.self)
        return sale.transactions
    }

    /// Runs the body with a simulator that begins empty but for the app, and ends it afterwards.
    static func run(_ body: (Simulator) async throws -> Void) async throws {
        let state = FileManager.default.temporaryDirectory.appending(path: "server-api-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: state, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: state) }
        let process = Process()
        process.executableURL = URL(filePath: path)
        process.arguments = ["--port", "0", "--production-port", "0", "--sandbox-port", "0", "--state", state.path]
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        let (ends, end) = AsyncStream<Void>.makeStream()
        process.terminationHandler = { _ in end.finish() }
        try process.run()
        var result = Result<Void, any Error>.success(())
        do {
            let addresses = try await addresses(in: state, of: process)
            let simulator = Simulator(addresses: addresses, http: .shared)
            try await simulator.control(
                .PUT, "apps/\(bundleId)",
                "{\"appAppleId\":1234567890,\"isReleased\":true,"
                    + "\"notificationURLs\":{\"Production\":\"http://127.0.0.1:9/\",\"Sandbox\":\"http://127.0.0.1:9/\"}}"
            )
            try await body(simulator)
        } catch {
            result = .failure(error)
        }
        process.terminate()
        for await _ in ends {}
        try result.get()
    }

    private static func addresses(in state: URL, of process: Process) async throws -> Addresses {
        let file = state.appending(path: "addresses.json")
        let deadline = ContinuousClock.now + .seconds(60)
        while process.isRunning, ContinuousClock.now < deadline {
            if let data = try? Data(contentsOf: file) { return try JSONDecoder().decode(Addresses.self, from: data) }
            // Another process makes the file; there is no signal to wait for.
            try await Task.sleep(for: .milliseconds(50))
        }
        throw Trouble(description: "the simulator did not start")
    }
}

/// What a compact JWS says; nobody checks its signature here.
func claims<Value: Decodable>(_ jws: String, as type: Value.Type = Value.self) throws -> Value {
    let part = jws.split(separator: ".", omittingEmptySubsequences: false)[1]
    let base64 = part.replacing("-", with: "+").replacing("_", with: "/")
    let data = Data(base64Encoded: base64 + String(repeating: "=", count: (4 - base64.utf8.count % 4) % 4)) ?? Data()
    return try JSONDecoder().decode(type, from: data)
}

/// What most tests look for in a signed transaction.
struct TransactionClaims: Decodable, Equatable {
    let transactionId: String
    let productId: String
    let environment: String
    var appAccountToken: String?
    var revocationDate: Int64?
}

/// The error that a call throws; nil when it throws none of the library's.
func refusal(_ call: () async throws -> some Any) async -> AppStoreServerError? {
    do {
        _ = try await call()
        return nil
    } catch {
        return error as? AppStoreServerError
    }
}
