import AppStoreServerAPI
import AsyncHTTPClient
import Foundation
import NIOHTTP1
import SimulatorTesting
import Testing

/// The real simulator as a process of its own, and an app that is known to it.
struct Simulator: Sendable {
    static let bundleId = "com.example.game"

    static let missing: Comment = "SKIPPED: COUNTERSIGN_BIN_DIR is not set; it names the folder of app-store-simulator"
    static var isThere: Bool { SimulatorProcess.isThere }

    typealias Anything = SimulatorProcess.Anything

    private struct Key: Decodable {
        let issuerId: String
        let keyId: String
        let privateKey: String
    }

    private let process: SimulatorProcess

    var hosts: AppStoreHosts {
        AppStoreHosts(production: process.addresses.production, sandbox: process.addresses.sandbox + "/")
    }

    /// A client with its own key of the app.
    func client(limits: AppStoreServerClient.Limits = .init()) async throws -> AppStoreServerClient {
        client(key: try await key(), limits: limits)
    }

    func client(key: SigningKey, limits: AppStoreServerClient.Limits = .init()) -> AppStoreServerClient {
        AppStoreServerClient(http: .shared, key: key, bundleId: Self.bundleId, hosts: hosts, limits: limits)
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
        try await process.control(method, path, json, as: type)
    }

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
        try await SimulatorProcess.run { process in
            let simulator = Simulator(process: process)
            try await simulator.control(
                .PUT, "apps/\(bundleId)",
                "{\"appAppleId\":1234567890,\"isReleased\":true,"
                    + "\"notificationURLs\":{\"Production\":\"http://127.0.0.1:9/\",\"Sandbox\":\"http://127.0.0.1:9/\"}}"
            )
            try await body(simulator)
        }
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
