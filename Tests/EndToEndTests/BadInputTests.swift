import Foundation
import Messages
import NIOHTTP1
import Postgres
import Testing

extension EndToEnd {
    /// Bad input gets a problem document with a stable type, and leaves nothing that cannot be settled.
    @Suite("Bad input")
    struct BadInputTests {
        struct Case: Sendable, CustomTestStringConvertible {
            let name: String
            let status: Int
            let problem: String
            var body: String = ""
            var headers: [String: String] = [:]
            var isAuthenticated = true
            var method = HTTPMethod.POST
            var path = "/v1/purchases?wait=5"
            var testDescription: String { name }
        }

        private static let jws = "e30.e30.c2ln"
        private static func body(_ app: String, _ proof: String, account: String = "\"p\"") -> String {
            #"{"app":"\#(app)","account":\#(account),"signed_transaction":"\#(proof)"}"#
        }

        static let cases: [Case] = [
            Case(name: "not JSON", status: 400, problem: "body-malformed", body: "coins please"),
            Case(name: "an empty body", status: 400, problem: "body-malformed"),
            Case(name: "an array", status: 400, problem: "body-malformed", body: "[1,2]"),
            Case(
                name: "megabytes of nesting", status: 413, problem: "body-too-large",
                body: String(repeating: "[", count: 3 << 20)),
            Case(
                name: "deep nesting within the size", status: 400, problem: "body-malformed",
                body: String(repeating: "[", count: 100_000)),
            Case(
                name: "too large", status: 413, problem: "body-too-large",
                body: body("com.example.game", String(repeating: "a", count: 3 << 20))),
            Case(
                name: "wrong content type", status: 415, problem: "content-type-unsupported",
                body: body("com.example.game", jws), headers: ["content-type": "text/plain"]),
            Case(
                name: "missing proof", status: 422, problem: "field-missing",
                body: #"{"app":"com.example.game","account":"p"}"#),
            Case(
                name: "missing account", status: 422, problem: "field-missing",
                body: #"{"app":"com.example.game","signed_transaction":"e30.e30.c2ln"}"#),
            Case(
                name: "an account of control characters", status: 422, problem: "field-invalid",
                body: body("com.example.game", jws, account: #""a\u0000b""#)),
            Case(
                name: "a truncated JWS", status: 422, problem: "proof-malformed",
                body: body("com.example.game", "e30.e30")),
            Case(
                name: "a JWS that is no base64url", status: 422, problem: "proof-malformed",
                body: body("com.example.game", "e30.!!!.c2ln")),
            Case(
                name: "an unknown app", status: 422, problem: "app-unknown", body: body("com.example.nobody", jws)),
            Case(
                name: "no token", status: 401, problem: "authentication-required", body: body("com.example.game", jws),
                isAuthenticated: false),
            Case(
                name: "a wrong token", status: 401, problem: "authentication-failed",
                body: body("com.example.game", jws),
                headers: ["authorization": "Bearer csk_00000000000000000000000000000000"]),
            Case(
                name: "a token with alg none", status: 401, problem: "authentication-failed",
                body: body("com.example.game", jws),
                headers: ["authorization": "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJwIn0."]),
            Case(name: "an unknown path", status: 404, problem: "not-found", method: .GET, path: "/v1/nothing"),
        ]

        @Test("gets its problem, and no 500", arguments: cases)
        func problem(_ bad: Case) async throws {
            try await withStack { _, client, database in
                let before = try await database.number("SELECT count(*) AS n FROM submissions")
                var headers = client.jsonHeaders.merging(bad.headers) { $1 }
                if !bad.isAuthenticated { headers["authorization"] = nil }
                let answer = try await client.send(
                    bad.method, client.intake + bad.path, headers: headers,
                    body: bad.method == .POST ? Array(bad.body.utf8) : nil)
                #expect(answer.status == bad.status)
                #expect(answer.problem == bad.problem)
                #expect(try await database.number("SELECT count(*) AS n FROM submissions") == before)
            }
        }

        @Test("what has the shape of a JWS but is none is refused with a reason, and settled")
        func shapeOnly() async throws {
            try await withStack { _, client, database in
                let purchase = try await client.purchase(
                    "e30.e30.\(UUID().uuidString.filter { $0 != "-" })", app: "com.example.game", account: "fuzzer")
                #expect(purchase.state == "rejected")
                #expect(purchase.reason == "algorithm_not_es256" || purchase.reason == "header_invalid")
                let unsettled = try await database.number(
                    "SELECT count(*) AS n FROM submissions WHERE id = $1 AND due_at IS NOT NULL", [.text(purchase.id)])
                #expect(unsettled == 0)
            }
        }

        @Test("each forgery of the simulator is refused with the code that the simulator names")
        func forgeries() async throws {
            struct Menu: Decodable {
                struct Kind: Decodable {
                    let kind: String
                    let expectedRejection: String
                }
                let kinds: [Kind]
            }
            try await withStack { _, client, database in
                let list = try await client.send(.GET, "\(client.simulator)/simulator/v1/forgeries")
                let menu = try JSONDecoder().decode(Menu.self, from: list.body)
                #expect(menu.kinds.count >= 10)
                for forgery in menu.kinds {
                    let made = try await client.send(
                        .POST, "\(client.simulator)/simulator/v1/forgeries",
                        headers: ["content-type": "application/json"],
                        body: Array(
                            #"{"kind":"\#(forgery.kind)","bundleId":"com.example.game","productId":"gems.100"}"#.utf8))
                    struct Forged: Decodable { let signedTransaction: String }
                    let forged = try JSONDecoder().decode(Forged.self, from: made.body)
                    // What the store's own key signed is kept for a version that can read it.
                    let isKept = Self.kept.contains(forgery.expectedRejection)
                    let answer = try await client.post(
                        forged.signedTransaction, app: "com.example.game", account: "forger", wait: isKept ? 0 : 25)
                    if answer.status == 422 {
                        // Not even the shape of a JWS, such as an empty signature: intake sees that itself.
                        #expect(answer.problem == "proof-malformed", "\(forgery.kind)")
                        #expect(Self.shapeless.contains(forgery.expectedRejection), "\(forgery.kind)")
                        continue
                    }
                    let purchase = try JSONDecoder().decode(Reason.self, from: answer.body)
                    if isKept {
                        try await Self.expectKept(purchase.id, forgery.expectedRejection, database)
                        continue
                    }
                    #expect(purchase.state == "rejected", "\(forgery.kind)")
                    #expect(purchase.reason == forgery.expectedRejection, "\(forgery.kind)")
                }
            }
        }

        private static let kept = ["payload_unreadable", "field_missing", "field_invalid", "environment_unknown"]

        /// The codes of proofs that may be refused for their shape alone.
        private static let shapeless = ["not_a_jws", "signature_invalid", "algorithm_not_es256"]

        /// It has no outcome, another try, and the reason is written down.
        private static func expectKept(_ id: String, _ reason: String, _ database: Database) async throws {
            let kept = try await database.wait(
                for: 1, within: .seconds(30),
                """
                SELECT count(*) AS n FROM submissions
                WHERE id = $1 AND state = 'received' AND reason = $2 AND due_at > now()
                """, [.text(id), .text(reason)])
            #expect(kept == 1, "\(reason)")
        }

        @Test("what is signed well and strange is granted where nobody asks for the strange part, and else kept")
        func strange() async throws {
            let app = "com.example.game"
            try await withStack { stack, client, database in
                var payloads = try HostilePayloads(
                    stack, bundleId: app, appAppleId: 1_000_000_001, seed: UInt64(Date().timeIntervalSince1970))
                let account = "strange-\(UUID().uuidString)"
                let deep = String(repeating: "[", count: 500) + String(repeating: "]", count: 500)
                let long = String(repeating: "9", count: 400)
                let more = #","a":\#(long),"b":1,"b":2,"c":\#(deep),"d":"\u0000\ud800"}"#
                let strange = try payloads.transaction(followedBy: more)
                let purchase = try await client.purchase(strange, app: app, account: account)
                #expect(purchase.state == "fulfilled" && purchase.finish, "\(purchase)")
                let noted = try await database.number(
                    "SELECT count(*) AS n FROM unknown_values WHERE app = $1 AND field = ANY($2)",
                    [.text(app), .textArray(["a", "b", "c", "d"].map { "transaction.\($0)" })])
                #expect(noted == 4)
                // Nobody can read it: not even when it was signed. Posted and told.
                let unread = try payloads.transaction(followedBy: ",\"e\":01}")
                let answer = try await client.post(unread, app: app, account: account, wait: 0)
                let posted = try JSONDecoder().decode(Reason.self, from: answer.body)
                try await Self.expectKept(posted.id, "payload_unreadable", database)
                let told = try await client.send(
                    .POST, client.intake + "/v1/notifications", body: Array(#"{"signedPayload":"\#(unread)"}"#.utf8))
                // It says of no app that it is about it; Apple comes again, and keeps it in the app's history.
                let refusal = String(decoding: told.body, as: UTF8.self)
                #expect(told.status == 400 && refusal.contains("payload_unreadable"), "\(told.status)")
                // Under another one's signature the same is a forgery.
                let signature = strange.split(separator: ".")[2]
                let forged = unread.split(separator: ".").prefix(2).joined(separator: ".") + ".\(signature)"
                let refused = try await client.purchase(forged, app: app, account: account)
                #expect(refused.state == "rejected" && refused.reason == "payload_invalid", "\(refused)")
            }
        }

        private struct Reason: Decodable {
            let id: String
            let state: String
            let reason: String?
        }
    }
}
