import Foundation
import Messages
import NIOHTTP1

/// Every kind of proof, and the simulator's receipts and faults.
extension IntakeClient {
    /// Posts fields as an app's backend does, and waits for an outcome.
    func submit(_ fields: [String: String], wait: Int = 25) async throws -> Answer {
        try await send(
            .POST, "\(intake)/v1/purchases?wait=\(wait)", headers: jsonHeaders, body: try MessageCoding.encode(fields))
    }

    /// The same, where an outcome is expected.
    func settled(_ fields: [String: String]) async throws -> Purchase {
        let answer = try await submit(fields)
        guard answer.status == 200 else {
            throw StackFailure("no outcome: \(answer.status) \(String(decoding: answer.body, as: UTF8.self))")
        }
        return try MessageCoding.decode(Purchase.self, from: [UInt8](answer.body))
    }

    /// The same, where an outcome cannot come yet; returns the submission's id.
    func accepted(_ fields: [String: String]) async throws -> String {
        struct Accepted: Decodable { let id: String }
        let answer = try await submit(fields, wait: 0)
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
        let answer = try await send(
            .init(rawValue: method), "\(simulator)/simulator/v1/\(path)",
            headers: ["content-type": "application/json"], body: json.map { Array($0.utf8) })
        guard (200..<300).contains(answer.status) else {
            throw StackFailure("\(path): \(answer.status) \(String(decoding: answer.body, as: UTF8.self))")
        }
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
