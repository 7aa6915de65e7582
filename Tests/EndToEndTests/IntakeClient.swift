import AsyncHTTPClient
import Foundation
import Messages
import NIOCore
import NIOHTTP1

/// Posts purchases as an app's backend does, and the simulator's sales as players make them.
struct IntakeClient: Sendable {
    let intake: String
    let simulator: String
    let apiKey: String

    init(_ stack: Stack) throws {
        intake = try stack.setting("COUNTERSIGN_RECEIPT_INTAKE_URL")
        simulator = try stack.setting("COUNTERSIGN_SIMULATOR_URL")
        apiKey = try stack.setting("COUNTERSIGN_API_KEY")
    }

    /// An answer of the intake.
    struct Answer: Sendable {
        let status: Int
        let contentType: String
        let body: Data

        /// The problem's code; nil where the answer is no problem document.
        var problem: String? {
            guard contentType.hasPrefix("application/problem+json") else { return nil }
            return (try? JSONDecoder().decode(Problem.self, from: body))?.code
        }

        private struct Problem: Decodable {
            let code: String
        }
    }

    /// What intake says of a purchase.
    struct Purchase: Decodable, Sendable {
        let id: String
        let state: String
        let finish: Bool
        let reason: String?
        let transactions: [TransactionOutcome]
    }

    /// A sale of the simulator.
    struct Sale: Decodable, Sendable {
        let transactionId: String
        let originalTransactionId: String
        /// Apple's id of a subscription's period; nil for everything else.
        let webOrderLineItemId: String?
        let signedTransaction: String
    }

    static let bodyMaximum = 8 << 20

    func send(
        _ method: HTTPMethod, _ url: String, headers: [String: String] = [:], body: [UInt8]? = nil
    ) async throws -> Answer {
        var request = HTTPClientRequest(url: url)
        request.method = method
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        if let body { request.body = .bytes(body) }
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(60))
        let buffer = try await response.body.collect(upTo: Self.bodyMaximum)
        return Answer(
            status: Int(response.status.code), contentType: response.headers.first(name: "content-type") ?? "",
            body: Data(buffer.readableBytesView))
    }

    /// Posts a signed transaction for an account by the server's key, and waits for its outcome.
    func post(_ jws: String, app: String, account: String, wait: Int = 25) async throws -> Answer {
        let body = try MessageCoding.encode(["app": app, "signed_transaction": jws, "account": account])
        return try await send(
            .POST, "\(intake)/v1/purchases?wait=\(wait)", headers: jsonHeaders, body: body)
    }

    /// The same, where an outcome is expected.
    func purchase(_ jws: String, app: String, account: String) async throws -> Purchase {
        let answer = try await post(jws, app: app, account: account)
        guard answer.status == 200 else {
            throw StackFailure("no outcome: \(answer.status) \(String(decoding: answer.body, as: UTF8.self))")
        }
        return try MessageCoding.decode(Purchase.self, from: [UInt8](answer.body))
    }

    /// What the server is told of a purchase, or a player, waiting for its outcome.
    func status(of id: String, wait: Int = 25, playerToken: String? = nil) async throws -> Purchase {
        let answer = try await send(
            .GET, "\(intake)/v1/purchases/\(id)?wait=\(wait)", headers: headers(playerToken: playerToken))
        guard answer.status == 200 || answer.status == 202 else {
            throw StackFailure("\(id): \(answer.status) \(String(decoding: answer.body, as: UTF8.self))")
        }
        return try MessageCoding.decode(Purchase.self, from: [UInt8](answer.body))
    }

    /// Says which account a token means.
    func register(token: String, app: String, account: String) async throws -> Answer {
        try await send(
            .PUT, "\(intake)/v1/account-tokens/\(token)", headers: jsonHeaders,
            body: try MessageCoding.encode(["app": app, "account": account]))
    }

    /// Sells a product in the simulator.
    func sell(_ order: [String: String], count: Int = 1) async throws -> [Sale] {
        var fields = order.map { "\"\($0.key)\":\"\($0.value)\"" }
        fields.append("\"count\":\(count)")
        let answer = try await send(
            .POST, "\(simulator)/simulator/v1/sales", headers: ["content-type": "application/json"],
            body: Array("{\(fields.joined(separator: ","))}".utf8))
        guard answer.status == 200 || answer.status == 201 else {
            throw StackFailure("no sale: \(answer.status) \(String(decoding: answer.body, as: UTF8.self))")
        }
        struct Sales: Decodable { let transactions: [Sale] }
        return try JSONDecoder().decode(Sales.self, from: answer.body).transactions
    }

    /// Sells to an account, and posts all of it at the same time.
    func buy(_ order: [String: String], count: Int, app: String, account: String) async throws {
        let sales = try await sell(order, count: count)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for sale in sales {
                group.addTask { _ = try await purchase(sale.signedTransaction, app: app, account: account) }
            }
            try await group.waitForAll()
        }
    }

    var jsonHeaders: [String: String] { headers() }

    /// Those of the studio's server, or of a player's app.
    func headers(playerToken: String? = nil) -> [String: String] {
        ["content-type": "application/json", "authorization": "Bearer \(playerToken ?? apiKey)"]
    }
}
