import AppStoreServerAPI
import Foundation
import NIOHTTP1
import SimulatorTesting
import Testing

/// The real simulator as a process of its own, which begins empty.
struct Simulator: Sendable {
    static let missing: Comment = "SKIPPED: COUNTERSIGN_BIN_DIR is not set; it names the folder of app-store-simulator"
    static var isThere: Bool { SimulatorProcess.isThere }

    typealias Anything = SimulatorProcess.Anything

    struct Trouble: Error, CustomStringConvertible {
        let description: String
    }

    let process: SimulatorProcess

    /// Where it keeps its roots.
    var folder: URL { process.folder }
    var production: String { process.addresses.production }
    var sandbox: String { process.addresses.sandbox }
    var responder: String { "\(process.addresses.control)/simulator/ocsp" }

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
        try await process.control(method, path, json, as: type)
    }

    /// Runs the body with a simulator of its own, and ends it afterwards.
    static func run(_ body: (Simulator) async throws -> Void) async throws {
        try await SimulatorProcess.run { try await body(Simulator(process: $0)) }
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
