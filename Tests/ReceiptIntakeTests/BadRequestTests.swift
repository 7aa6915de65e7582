import Foundation
import HTTPTypes
import ServiceRuntime
import Testing

@testable import ReceiptIntake

@Suite(
    "What is wrong with a request is told, and nothing of it is written",
    .enabled(if: TestDatabase.serverURL != nil, TestDatabase.skipComment), .timeLimit(.minutes(2)))
struct BadRequestTests {
    private struct Case {
        let slug: String
        let status: Int
        var token: String?
        var body: String?
        var path = "/v1/purchases"
        var method = HTTPRequest.Method.post
        var headers: HTTPFields = [:]
    }

    private static func body(
        app: String = TestIntake.app, proof: String = Proofs.fresh(), account: String? = nil, more: String = ""
    ) -> String {
        let account = account.map { ",\"account\":\"\($0)\"" } ?? ""
        return "{\"app\":\"\(app)\",\"signed_transaction\":\"\(proof)\"\(account)\(more)}"
    }

    private func identityCases() throws -> [Case] {
        let good = Self.body()
        let player = try TestTokens.hs256(TestTokens.claims("player"))
        let expired = try TestTokens.hs256(TestTokens.claims("player", ["exp": 1]))
        let key = TestIntake.serverKey
        return [
            Case(slug: "authentication-required", status: 401, body: good),
            Case(slug: "authentication-required", status: 401, body: good, headers: [.authorization: "Basic eDp5"]),
            Case(slug: "authentication-failed", status: 401, token: expired, body: good),
            Case(slug: "authentication-failed", status: 401, token: "csk_unknown", body: good),
            Case(slug: "authentication-failed", status: 401, token: "x", body: good),
            Case(slug: "authentication-failed", status: 401, token: TestIntake.otherServerKey, body: good),
            Case(
                slug: "authentication-failed", status: 401, token: player, body: Self.body(app: TestIntake.otherApp)),
            Case(slug: "app-unknown", status: 422, token: player, body: Self.body(app: "com.example.unknown")),
            Case(slug: "account-forbidden", status: 403, token: player, body: Self.body(account: "somebody")),
            Case(slug: "field-missing", status: 422, token: key, body: good),
            Case(slug: "field-invalid", status: 422, token: key, body: Self.body(account: "")),
            Case(slug: "field-invalid", status: 422, token: key, body: Self.body(account: "a\\u0000b")),
            Case(
                slug: "field-invalid", status: 422, token: key,
                body: Self.body(account: String(repeating: "x", count: 256))),
        ]
    }

    private func formCases() throws -> [Case] {
        let player = try TestTokens.hs256(TestTokens.claims("player"))
        let good = Self.body()
        let deep = String(repeating: "[", count: 50) + String(repeating: "]", count: 50)
        let malformed = [
            "", "{", "nonsense", "[]", "\"text\"", "7", "null", "\u{FEFF}{",
            Self.body(more: ",\"deep\":\(deep)"), String(repeating: "[", count: 100_000),
            "{\"app\":\"\\ud800\",\"signed_transaction\":\"a.b.c\"}",
        ]
        let proofs = [
            "", "a", "aa.bb", "aa.bb.cc.dd", "aa..cc", "aa.b=.cc", "aa.b b.cc", String(repeating: "A", count: 70_000),
        ]
        return malformed.map { Case(slug: "body-malformed", status: 400, token: player, body: $0) }
            + proofs.map { Case(slug: "proof-malformed", status: 422, token: player, body: Self.body(proof: $0)) }
            + [nil, "text/plain", "application/jsonp", "application/x-www-form-urlencoded", ""].map { type in
                Case(
                    slug: "content-type-unsupported", status: 415, token: player, body: good,
                    headers: [.contentType: type ?? "none"])
            } + [
                Case(slug: "field-missing", status: 422, token: player, body: "{}"),
                Case(
                    slug: "field-missing", status: 422, token: player, body: "{}",
                    headers: [.contentType: "\t Application/JSON ; charset=utf-8"]),
                Case(
                    slug: "content-type-unsupported", status: 415, token: player, body: good,
                    headers: [.contentType: "application/ json"]),
                Case(slug: "field-missing", status: 422, token: player, body: "{\"app\":\"\(TestIntake.app)\"}"),
                Case(
                    slug: "field-missing", status: 422, token: player,
                    body: "{\"app\":\"\(TestIntake.app)\",\"signed_transaction\":null}"),
                Case(slug: "field-invalid", status: 422, token: player, body: "{\"app\":7}"),
                Case(
                    slug: "body-too-large", status: 413, token: player,
                    body: Self.body(more: ",\"x\":\"\(String(repeating: "x", count: 2 << 20))\"")),
            ]
            + [
                ("proof-ambiguous", "\"signed_transaction\":\"e30.e30.c2ln\",\"receipt\":\"MIIB\""),
                ("proof-ambiguous", "\"signed_transaction\":\"e30.e30.c2ln\",\"transaction_id\":\"1\""),
                ("proof-malformed", "\"receipt\":\"\""), ("proof-malformed", "\"receipt\":\"AAAA\""),
                ("field-invalid", "\"receipt\":\"MIIB\",\"transaction_id\":\"\""),
                ("field-invalid", "\"transaction_id\":\"1 2\""), ("field-invalid", "\"transaction_id\":12"),
                ("field-invalid", "\"transaction_id\":\"1\",\"environment\":\"Sandbox\""),
            ].map { slug, fields in
                Case(slug: slug, status: 422, token: player, body: "{\"app\":\"\(TestIntake.app)\",\(fields)}")
            }
            + ["-1", "31", "x", "1.5", "", "030", "٣"].map { wait in
                Case(
                    slug: "field-invalid", status: 422, token: player, body: good,
                    path:
                        "/v1/purchases?wait=\(wait.addingPercentEncoding(withAllowedCharacters: .urlQueryAllowed) ?? "")"
                )
            }
    }

    private func routeCases() throws -> [Case] {
        let player = try TestTokens.hs256(TestTokens.claims("player"))
        return [
            Case(slug: "not-found", status: 404, token: player, path: "/", method: .get),
            Case(slug: "not-found", status: 404, token: player, path: "/v1/purchase", method: .post),
            Case(slug: "not-found", status: 404, token: player, path: "/v1/purchases/a/b", method: .get),
            Case(slug: "method-not-allowed", status: 405, token: player, method: .get),
            Case(slug: "method-not-allowed", status: 405, token: player, method: .delete),
            Case(slug: "method-not-allowed", status: 405, token: player, path: "/v1/purchases/x", method: .post),
            Case(slug: "method-not-allowed", status: 405, token: player, path: "/v1/account-tokens/x", method: .get),
        ]
    }

    @Test("every bad input gets its problem, and writes no row")
    func badInputs() async throws {
        let cases = try identityCases() + formCases() + routeCases()
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { intake in
                for (number, bad) in cases.enumerated() {
                    let answer = try await intake.send(
                        bad.method, bad.path, token: bad.token, body: bad.body, headers: bad.headers)
                    let what: Comment = "case \(number): \(bad.slug) \(bad.body?.prefix(80) ?? "") \(answer.text)"
                    #expect(answer.slug == bad.slug, what)
                    #expect(answer.status == bad.status, what)
                    #expect(answer.fields["status"] as? Int == bad.status, what)
                    #expect(answer.headers[.requestId]?.isEmpty == false, what)
                    if bad.status == 401 { #expect(answer.headers[.wwwAuthenticate]?.hasPrefix("Bearer") == true) }
                    if bad.status == 405 { #expect(answer.headers[.allow] != nil) }
                    if let token = bad.token, token.count > 8 { #expect(!answer.text.contains(token)) }
                }
                #expect(intake.published.withLock(\.isEmpty))
            }
            #expect(try await database.submissionCount() == 0)
        }
    }

    @Test("an id of the caller that does not look like one is replaced")
    func correlation() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { intake in
                for id in ["a b", "a.b", String(repeating: "x", count: 65), ""] {
                    let answer = try await intake.send(.get, "/", token: nil, headers: [.requestId: id])
                    #expect(answer.headers[.requestId]?.hasPrefix("req_") == true)
                }
                let traceParent = try #require(HTTPField.Name("traceparent"))
                let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
                let traced = try await intake.send(
                    .get, "/", token: nil, headers: [.requestId: "mine", traceParent: trace])
                #expect(traced.headers[.requestId] == trace, "a trace is found by every tool")
                let untraced = try await intake.send(
                    .get, "/", token: nil, headers: [.requestId: "mine", traceParent: "00-\(trace)"])
                #expect(untraced.headers[.requestId] == "mine")
            }
        }
    }

    @Test("without a database the answer is 503 with a time to come again")
    func databaseDown() async throws {
        try await TestIntake.with(url: "postgresql://nobody@127.0.0.1:1/none?connect_timeout=2") { intake in
            let token = try TestTokens.hs256(TestTokens.claims("player"))
            let answer = try await intake.post(Proofs.fresh(), as: token, wait: 30)
            #expect(answer.status == 503)
            #expect(answer.slug == "database-unavailable")
            #expect(answer.headers[.retryAfter] == "5")
            let path = "/v1/purchases/sub_00000000000000000000000000000000"
            #expect(try await intake.send(.get, path, token: token).slug == "database-unavailable")
            #expect(intake.waiters.count == 0)
            #expect(intake.published.withLock(\.isEmpty))
        }
    }

    @Test("a full queue is 503 with a time to come again")
    func overloaded() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url, queueMaximum: 0) { intake in
                let answer = try await intake.post(
                    Proofs.fresh(), as: TestTokens.hs256(TestTokens.claims("player")))
                #expect(answer.status == 503)
                #expect(answer.slug == "overloaded")
                #expect(answer.headers[.retryAfter] == "1")
            }
            #expect(try await database.submissionCount() == 0)
        }
    }
}
