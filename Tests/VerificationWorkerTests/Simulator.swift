import AppStoreServerAPI
import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import Testing

/// The real simulator as a process of its own, which begins empty.
struct Simulator: Sendable {
    private static let folder = ProcessInfo.processInfo.environment["COUNTERSIGN_BIN_DIR"]
    private static let path = (folder ?? "") + "/app-store-simulator"

    static let missing: Comment = "SKIPPED: COUNTERSIGN_BIN_DIR is not set; it names the folder of app-store-simulator"
    static let isThere = folder != nil && FileManager.default.isExecutableFile(atPath: path)

    private struct Addresses: Decodable {
        let control: String
        let production: String
        let sandbox: String
    }

    struct Trouble: Error, CustomStringConvertible {
        let description: String
    }

    private let addresses: Addresses
    /// Where it keeps its roots.
    let folder: URL

    var production: String { addresses.production }
    var sandbox: String { addresses.sandbox }
    var responder: String { "\(addresses.control)/simulator/ocsp" }

    /// The fingerprint of the root of signed data, or of receipts.
    func root(of name: String) throws -> String {
        try String(contentsOf: folder.appending(path: "\(name).sha256"), encoding: .utf8)
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Calls the control API, which must succeed.
    @discardableResult
    func control<Value: Decodable>(
        _ method: HTTPMethod, _ path: String, _ json: String? = nil, as type: Value.Type = Anything.self
    ) async throws -> Value {
        var request = HTTPClientRequest(url: "\(addresses.control)/simulator/v1/\(path)")
        request.method = method
        if let json { request.body = .bytes(ByteBuffer(string: json)) }
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(60))
        let body = try await response.body.collect(upTo: 64 << 20)
        guard response.status == .ok || response.status == .created else {
            throw Trouble(description: "\(method) \(path): \(response.status) \(String(buffer: body))")
        }
        return try JSONDecoder().decode(type, from: Data(body.readableBytesView))
    }

    /// An answer that nobody looks at.
    struct Anything: Decodable {}

    /// Runs the body with a simulator of its own, and ends it afterwards.
    static func run(_ body: (Simulator) async throws -> Void) async throws {
        let state = FileManager.default.temporaryDirectory.appending(path: "worker-\(UUID().uuidString)")
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
            try await body(Simulator(addresses: try await addresses(in: state, of: process), folder: state))
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

/// What players and Apple do.
extension Simulator {
    struct Sold: Decodable, Sendable {
        let transactionId: String
        let originalTransactionId: String
        let signedTransaction: String
    }

    /// Sells something to somebody, and says which transactions it made.
    @discardableResult
    func sell(
        _ productId: String = "coins.100", type: String = "Consumable", to account: String = "somebody",
        app: String = SubmissionFixture.app, environment: AppStoreEnvironment = .production, count: Int = 1
    ) async throws -> [Sold] {
        struct Sale: Decodable { let transactions: [Sold] }
        let sale = try await control(
            .POST, "sales",
            "{\"bundleId\":\"\(app)\",\"productId\":\"\(productId)\",\"type\":\"\(type)\",\"account\":\"\(account)\","
                + "\"environment\":\"\(environment.rawValue)\",\"count\":\(count)}", as: Sale.self)
        return sale.transactions
    }

    /// Sells one thing.
    func sellOne(
        app: String = SubmissionFixture.app, environment: AppStoreEnvironment = .production
    ) async throws -> Sold {
        try #require(try await sell(app: app, environment: environment).first)
    }

    /// The receipt of an Apple ID, in base64.
    func receipt(
        of account: String, app: String = SubmissionFixture.app, environment: AppStoreEnvironment = .production
    ) async throws -> String {
        struct Receipt: Decodable { let receipt: String }
        return try await control(
            .GET, "receipts?bundleId=\(app)&account=\(account)&environment=\(environment.rawValue)", as: Receipt.self
        ).receipt
    }

    /// A forgery that is refused with a code.
    func forgery(refusedAs code: String) async throws -> String {
        struct Menu: Decodable {
            struct Kind: Decodable {
                let kind: String
                let expectedRejection: String
            }
            let kinds: [Kind]
        }
        let menu = try await control(.GET, "forgeries", as: Menu.self)
        let kind = try #require(menu.kinds.first { $0.expectedRejection == code }, "no forgery is refused as \(code)")
        return try await forgery(kind.kind)
    }

    /// A forgery of a kind.
    func forgery(_ kind: String) async throws -> String {
        struct Forged: Decodable { let signedTransaction: String }
        return try await control(
            .POST, "forgeries",
            "{\"kind\":\"\(kind)\",\"bundleId\":\"\(SubmissionFixture.app)\",\"productId\":\"coins.100\"}",
            as: Forged.self
        ).signedTransaction
    }

    /// The first artefact of an attack: a signed transaction, or a receipt.
    func attack(_ kind: String) async throws -> String {
        struct Attack: Decodable {
            struct Artefact: Decodable { let value: String }
            let artefacts: [Artefact]
        }
        let attack = try await control(
            .POST, "attacks",
            "{\"kind\":\"\(kind)\",\"bundleId\":\"\(SubmissionFixture.app)\",\"productId\":\"coins.100\"}",
            as: Attack.self)
        return try #require(attack.artefacts.first).value
    }

    /// One rule of misbehaviour for a host's calls, instead of the rules before.
    func misbehave(
        _ fault: String, in environment: AppStoreEnvironment? = nil, share: Double? = nil, count: Int? = nil
    ) async throws {
        let match = environment.map { ",\"match\":{\"environment\":\"\($0.rawValue)\"}" } ?? ""
        let share = share.map { ",\"share\":\($0),\"seed\":7" } ?? ""
        let count = count.map { ",\"count\":\($0)" } ?? ""
        try await control(.PUT, "faults", "{\"rules\":[{\"fault\":\(fault)\(match)\(share)\(count)}]}")
    }

    /// How many requests the one rule was tried on.
    func requestsSeen() async throws -> Int {
        struct Report: Decodable {
            struct Rule: Decodable { let matched: Int }
            let rules: [Rule]
        }
        return try await control(.GET, "faults", as: Report.self).rules.first?.matched ?? 0
    }

    /// Good manners in everything.
    func behave() async throws {
        try await control(.DELETE, "faults")
        try await control(.DELETE, "verify-receipt")
        try await control(
            .PUT, "revocation", "{\"leaf\":\"good\",\"intermediate\":\"good\",\"responder\":\"up\"}")
    }
}
