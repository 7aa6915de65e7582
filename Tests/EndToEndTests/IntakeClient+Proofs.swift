import Foundation
import Messages
import NIOHTTP1

/// Every kind of proof, and the simulator's receipts and faults.
extension IntakeClient {
    /// Posts fields as an app's backend does, or by a player's token as the app itself, and waits for an outcome.
    func submit(_ fields: [String: String], wait: Int = 25, playerToken: String? = nil) async throws -> Answer {
        try await send(
            .POST, "\(intake)/v1/purchases?wait=\(wait)", headers: headers(playerToken: playerToken),
            body: try MessageCoding.encode(fields))
    }

    /// The same, where an outcome is expected.
    func settled(_ fields: [String: String], playerToken: String? = nil) async throws -> Purchase {
        let answer = try await submit(fields, playerToken: playerToken)
        guard answer.status == 200 else {
            throw StackFailure("no outcome: \(answer.status) \(String(decoding: answer.body, as: UTF8.self))")
        }
        return try MessageCoding.decode(Purchase.self, from: [UInt8](answer.body))
    }

    /// The same, where an outcome cannot come yet; returns the submission's id.
    func accepted(_ fields: [String: String], playerToken: String? = nil) async throws -> String {
        struct Accepted: Decodable { let id: String }
        let answer = try await submit(fields, wait: 0, playerToken: playerToken)
        guard answer.status == 202 else {
            throw StackFailure("not accepted: \(answer.status) \(String(decoding: answer.body, as: UTF8.self))")
        }
        return try JSONDecoder().decode(Accepted.self, from: answer.body).id
    }

    /// The receipt of an Apple ID, in base64.
    func receipt(app: String, account: String, environment: String = "Production") async throws -> String {
        struct Receipt: Decodable { let receipt: String }
        let answer = try await send(
            .GET,
            "\(simulator)/simulator/v1/receipts?bundleId=\(app)&account=\(account)&environment=\(environment)")
        guard answer.status == 200 else {
            throw StackFailure("no receipt: \(answer.status) \(String(decoding: answer.body, as: UTF8.self))")
        }
        return try JSONDecoder().decode(Receipt.self, from: answer.body).receipt
    }

    /// Has the simulator do something; see its control API.
    func control(_ method: String, _ path: String, _ json: String? = nil) async throws {
        _ = try await controlled(method, path, json)
    }

    /// The same, with what the simulator answers.
    func controlled(_ method: String, _ path: String, _ json: String? = nil) async throws -> Data {
        let answer = try await send(
            .init(rawValue: method), "\(simulator)/simulator/v1/\(path)",
            headers: ["content-type": "application/json"], body: json.map { Array($0.utf8) })
        guard (200..<300).contains(answer.status) else {
            throw StackFailure("\(path): \(answer.status) \(String(decoding: answer.body, as: UTF8.self))")
        }
        return answer.body
    }

    /// Lets both of Apple's hosts misbehave by these rules while the body runs, and behave again afterwards.
    func misbehaving<Value>(_ rules: String, _ body: () async throws -> Value) async throws -> Value {
        try await control("PUT", "faults", #"{"rules":[\#(rules)]}"#)
        do {
            let value = try await body()
            try await control("DELETE", "faults")
            return value
        } catch {
            try await control("DELETE", "faults")
            throw error
        }
    }
}
