import Foundation

/// Buys at the App Store simulator.
struct SimulatorClient: Sendable {
    /// What one request may ask for; the simulator's own limit is 1000.
    static let salesPerRequest = 500
    private static let timeout = Duration.seconds(60)

    let http: HTTPCaller
    let base: String
    let sale: Sale

    /// What is bought, in the simulator's words.
    struct Sale: Encodable, Sendable {
        var bundleId: String
        var productId: String
        /// Apple's name of the type, such as `Consumable`.
        var type: String
        var environment: String
        var count: Int?
        var kind: String?
        /// The Apple ID that buys; a guest where there is none.
        var account: String?
    }

    /// A transaction that was sold.
    struct Sold: Decodable, Sendable {
        let transactionId: String
        let originalTransactionId: String
        let signedTransaction: String
    }

    /// A way to cheat, and what a good backend answers.
    struct ForgeryKind: Decodable, Sendable {
        let kind: String
        let expectedRejection: String
    }

    /// A transaction that is not genuine.
    struct Forged: Decodable, Sendable {
        let signedTransaction: String
    }

    /// Sells so many, 500 or less: to guests, or to an Apple ID.
    ///
    /// - Throws: `ToolFailure`.
    func sell(_ count: Int, to account: String? = nil) async throws -> [Sold] {
        struct Answer: Decodable { let transactions: [Sold] }
        var sale = sale
        sale.count = count
        sale.account = account
        let answer = try await post("sales", sale, as: Answer.self)
        guard answer.transactions.count == count else {
            throw ToolFailure("the simulator at \(base) sold \(answer.transactions.count) of \(count)")
        }
        return answer.transactions
    }

    /// The receipt of an Apple ID's copy of the app, in base64.
    ///
    /// - Throws: `ToolFailure`.
    func receipt(of account: String) async throws -> String {
        struct Answer: Decodable { let receipt: String }
        var components = URLComponents()
        components.queryItems = [
            URLQueryItem(name: "bundleId", value: sale.bundleId), URLQueryItem(name: "account", value: account),
            URLQueryItem(name: "environment", value: sale.environment),
        ]
        let url = "\(base)/simulator/v1/receipts?\(components.percentEncodedQuery ?? "")"
        return try await decoded(Answer.self) { try await http.get(url, timeout: Self.timeout) }.receipt
    }

    /// The ways of cheating that the simulator knows.
    ///
    /// - Throws: `ToolFailure`.
    func forgeryKinds() async throws -> [ForgeryKind] {
        struct Answer: Decodable { let kinds: [ForgeryKind] }
        let url = "\(base)/simulator/v1/forgeries"
        return try await decoded(Answer.self) { try await http.get(url, timeout: Self.timeout) }.kinds
    }

    /// Forges one.
    ///
    /// - Throws: `ToolFailure`.
    func forge(_ kind: String) async throws -> Forged {
        var sale = sale
        sale.kind = kind
        return try await post("forgeries", sale, as: Forged.self)
    }

    private func post<Value: Decodable>(_ path: String, _ sale: Sale, as type: Value.Type) async throws -> Value {
        let body = try JSONEncoder().encode(sale)
        let url = "\(base)/simulator/v1/\(path)"
        return try await decoded(type) { try await http.post(url, json: body, timeout: Self.timeout) }
    }

    private func decoded<Value: Decodable>(
        _ type: Value.Type, _ request: () async throws -> HTTPCaller.Answer
    ) async throws -> Value {
        let answer: HTTPCaller.Answer
        do {
            answer = try await request()
        } catch {
            throw ToolFailure("the simulator at \(base) cannot be reached: \(error)")
        }
        guard answer.isSuccess else {
            throw ToolFailure(
                "the simulator at \(base) answers \(answer.status): \(String(decoding: answer.body, as: UTF8.self))")
        }
        do {
            return try JSONDecoder().decode(type, from: answer.body)
        } catch {
            throw ToolFailure("the simulator at \(base) answers something else than it should; is it one?")
        }
    }
}
