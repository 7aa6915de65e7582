import NIOHTTP1

/// Buys at the App Store simulator.
struct SimulatorClient: Sendable {
    /// What one request may ask for; the simulator's own limit is 1000.
    static let salesPerRequest = 500
    private static let timeout = Duration.seconds(60)

    let control: ControlClient
    let bundleId: String
    let productId: String
    /// Apple's name of the type, such as `Consumable`.
    let type: String
    let environment: String

    /// A transaction that was sold.
    struct Sold: Sendable {
        let transactionId: String
        let originalTransactionId: String
        let signedTransaction: String
    }

    /// Sells so many, 500 or less: to guests, or to an Apple ID.
    ///
    /// - Throws: `ToolFailure`.
    func sell(_ count: Int, to account: String? = nil) async throws -> [Sold] {
        let answer = try await post("sales", ["count": .whole(Int64(count)), "account": account.map(JSONValue.text)])
        let sold = (answer["transactions"]?.list ?? []).compactMap { transaction -> Sold? in
            guard let id = transaction["transactionId"]?.text, let first = transaction["originalTransactionId"]?.text,
                let signed = transaction["signedTransaction"]?.text
            else { return nil }
            return Sold(transactionId: id, originalTransactionId: first, signedTransaction: signed)
        }
        guard sold.count == count else { throw ToolFailure("\(place) sold \(sold.count) of \(count)") }
        return sold
    }

    /// The receipt of an Apple ID's copy of the app, in base64.
    ///
    /// - Throws: `ToolFailure`.
    func receipt(of account: String) async throws -> String {
        let query = [("bundleId", bundleId), ("account", account), ("environment", environment)]
            .map { "\($0)=\(ControlClient.escaped($1))" }.joined(separator: "&")
        return try text("receipt", of: await control.value(.GET, "receipts?\(query)", timeout: Self.timeout))
    }

    /// The ways of cheating that the simulator knows, each with what a good backend answers.
    ///
    /// - Throws: `ToolFailure`.
    func forgeryKinds() async throws -> [(kind: String, expectedRejection: String)] {
        let answer = try await control.value(.GET, "forgeries", timeout: Self.timeout)
        return try (answer["kinds"]?.list ?? []).map {
            (kind: try text("kind", of: $0), expectedRejection: try text("expectedRejection", of: $0))
        }
    }

    /// Forges a signed transaction.
    ///
    /// - Throws: `ToolFailure`.
    func forge(_ kind: String) async throws -> String {
        try text("signedTransaction", of: await post("forgeries", ["kind": .text(kind)]))
    }

    private func post(_ path: String, _ more: [String: JSONValue?]) async throws -> JSONValue {
        let sale: [String: JSONValue] = [
            "bundleId": .text(bundleId), "productId": .text(productId), "type": .text(type),
            "environment": .text(environment),
        ]
        let body = sale.merging(more.compactMapValues(\.self)) { _, own in own }
        return try await control.value(.POST, path, body: .map(body), timeout: Self.timeout)
    }

    private func text(_ name: String, of answer: JSONValue) throws -> String {
        guard let text = answer[name]?.text else {
            throw ToolFailure("\(place) answers something else than it should; is it one?")
        }
        return text
    }

    private var place: String { "the simulator at \(control.base)" }
}
