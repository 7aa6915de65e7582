import Foundation
import HTTPTypes
import HummingbirdTesting
import Persistence
import ServiceRuntime
import Testing

@testable import ReceiptIntake

/// Requests about webhook endpoints, well and badly, with what really came back.
enum EndpointSamples {
    /// What seals secrets in the tests.
    static let key = Data(repeating: 0x5A, count: SecretSeal.keyByteCount).base64EncodedString()
    static let path = "/v1/webhooks/endpoints"
    static let one = "/v1/webhooks/endpoints/{endpoint}"

    static func all(_ intake: TestIntake, _ database: TestDatabase) async throws -> [SampleRequest.Sample] {
        var samples: [SampleRequest.Sample] = []
        func note(_ method: String, _ path: String, _ answer: TestIntake.Answer) {
            samples.append((method, path, answer))
        }
        let made = try await intake.makeEndpoint(["ed25519": true, "description": "the backend"])
        note("POST", path, made)
        let id = made.id
        for bad: [String: Any] in [["url": NSNull()], ["url": "http://hooks.example.com/"], ["events": "iap"]] {
            note("POST", path, try await intake.makeEndpoint(bad))
        }
        note("POST", path, try await intake.makeEndpoint(token: TestIntake.serverKey))
        note("POST", path, try await intake.makeEndpoint(token: nil))
        let query = "?app=\(TestIntake.app)"
        for token in [TestIntake.key(.read), TestIntake.key(.post), nil] {
            note("GET", path, try await intake.send(.get, path + query, token: token))
            note("GET", one, try await intake.send(.get, "\(path)/\(id)\(query)", token: token))
        }
        note("GET", one, try await intake.send(.get, "\(path)/we_none\(query)", token: TestIntake.key(.read)))
        func act(_ method: HTTPRequest.Method, _ name: String, _ fields: [String: Any] = [:], _ id: String) async throws
        {
            let answer = try await intake.act(method, id, name, fields)
            note(method.rawValue, one + name, answer)
        }
        for id in [id, "we_none"] {
            try await act(.patch, "", ["events": ["iap.refund.*"], "environments": ["production"]], id)
            try await act(.post, "/disable", ["reason": "it moves"], id)
            try await act(.post, "/enable", [:], id)
            try await act(.post, "/rotate", ["expires_in": 60], id)
            try await act(.post, "/rotate", [:], id)
            try await act(.post, "/secrets/expire", [:], id)
            try await act(.post, "/ping", [:], id)
        }
        note("POST", one + "/ping", try await pinged(intake, database, id))
        try await act(.patch, "", ["url": "no"], id)
        try await act(.post, "/rotate", ["expires_in": -1], id)
        for id in [id, "we_none"] {
            let answer = try await intake.send(.delete, "\(path)/\(id)\(query)", token: TestIntake.key(.operate))
            note("DELETE", one, answer)
        }
        return samples
    }

    /// Asks for a test message and waits, while what notification does is done by hand.
    static func pinged(
        _ intake: TestIntake, _ database: TestDatabase, _ id: String
    ) async throws -> TestIntake.Answer {
        let store = WebhookPingStore(pool: database.pool)
        let before = try await store.newest(of: id)?.id
        async let answer = intake.act(.post, id, "/ping?wait=20", [:])
        // The request is under way, and nothing but its row tells of it; the suite's time limit ends the wait.
        while try await store.newest(of: id)?.id == before { try await Task.sleep(for: .milliseconds(20)) }
        for due in try await store.claimDue(endpointIds: [id], limit: 1, lease: .seconds(60)) {
            try await store.record(due, .init(status: 503, error: "busy", duration: .milliseconds(12)))
        }
        return try await answer
    }
}

extension TestIntake {
    /// Makes an endpoint of the game, with other fields than these where the test says so.
    func makeEndpoint(
        _ fields: [String: Any] = [:], app: String = app, token: String? = key(.operate)
    ) async throws -> Answer {
        var all: [String: Any] = ["app": app, "url": "https://hooks.example.com/iap"]
        all.merge(fields) { $1 }
        let body = try JSONSerialization.data(withJSONObject: all)
        return try await send(.post, EndpointSamples.path, token: token, body: String(decoding: body, as: UTF8.self))
    }

    /// Does something with an endpoint.
    func act(
        _ method: HTTPRequest.Method, _ id: String, _ name: String, _ fields: [String: Any] = [:], app: String = app,
        token: String = key(.operate)
    ) async throws -> Answer {
        let body = try JSONSerialization.data(withJSONObject: fields.merging(["app": app]) { old, _ in old })
        return try await send(
            method, "\(EndpointSamples.path)/\(id)\(name)", token: token, body: String(decoding: body, as: UTF8.self))
    }
}
