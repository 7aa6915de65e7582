import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Testing

@testable import Console

@Suite("Who may see and do what")
struct RoleTests {
    private static let form =
        "csrf=\(LoggedIn.token)&reason=ticket&environment=production&transaction_id=1&account=kim"
        + "&row_0=production%201&rows=production%201,production%202&item=gem&amount=1&endpoint=we_1&submission_id=sub_1&rejected_reason=x&days=7&original_transaction_id=1"

    private static func answer(
        _ client: any TestClientProtocol, _ page: AppPage, body: String = form, headers: HTTPFields = [:]
    ) async throws -> TestResponse {
        var headers = headers
        if page.method == .post { headers[.contentType] = "application/x-www-form-urlencoded" }
        return try await client.execute(
            uri: OpenConsole.path(page), method: page.method, headers: headers,
            body: page.method == .post ? ByteBuffer(string: body) : nil)
    }

    @Test("each page and each act answers a role that may, and refuses every other", arguments: Role.allCases)
    func everyRoute(_ role: Role) async throws {
        let asked = AskedIntake()
        try await OpenConsole.open(as: role, asked: asked) { client, _ in
            for page in AppPages.all {
                let before = asked.questions.count
                let answer = try await Self.answer(client, page)
                let may = role >= page.permission.least
                // A question to Apple leads to its answer.
                let done: HTTPResponse.Status = page.path == "/acts/ask-apple" ? .seeOther : .ok
                #expect(answer.status == (may ? done : .forbidden), "\(role) \(page.method) \(page.path)")
                // What is refused is not asked of intake either.
                if !may { #expect(asked.questions.count == before, "\(role) \(page.path)") }
            }
        }
    }

    @Test("who is not logged in is sent to log in, and comes back to the page")
    func nobody() async throws {
        let asked = AskedIntake()
        try await OpenConsole.open(as: nil, asked: asked) { client, _ in
            for page in AppPages.all {
                let answer = try await Self.answer(client, page)
                #expect(answer.status == .seeOther)
                #expect(answer.headers[.location]?.hasPrefix("/login") == true)
            }
            #expect(asked.questions.isEmpty)
        }
    }

    @Test("a form that another site sent, or that has no token of the visit, does nothing")
    func crossSite() async throws {
        let asked = AskedIntake()
        try await OpenConsole.open(as: .admin, asked: asked) { client, _ in
            let acts = AppPages.all.filter { $0.method == .post }
            let site = try #require(HTTPField.Name("sec-fetch-site"))
            for page in acts {
                let without = try await Self.answer(client, page, body: "reason=x")
                #expect(without.status == .forbidden)
                let wrong = try await Self.answer(client, page, body: "csrf=another&reason=x")
                #expect(wrong.status == .forbidden)
                let foreign = try await Self.answer(client, page, headers: [site: "cross-site"])
                #expect(foreign.status == .forbidden)
            }
            #expect(!acts.isEmpty && asked.questions.isEmpty)
        }
    }

    @Test("an act is looked at first, then sent once with a key, in the person's name")
    func twoSteps() async throws {
        let asked = AskedIntake()
        try await OpenConsole.open(as: .support, asked: asked) { client, _ in
            let page = try #require(AppPages.all.first { $0.path == "/acts/assign" })
            let first = String(buffer: try await Self.answer(client, page).body)
            let look = try #require(asked.questions.last)
            #expect(look.path == "/v1/orders/1/assign" && look.body.contains(#""dry_run":true"#))
            #expect(look.headers["idempotency-key"] == nil)
            #expect(look.headers["countersign-actor"]?.hasPrefix("Kim") == true)
            let key = try #require(first.firstMatch(of: #/name="key" value="([0-9a-f-]{36})"/#)).1
            for _ in 1...2 { _ = try await Self.answer(client, page, body: Self.form + "&key=\(key)") }
            let sent = asked.questions.suffix(2)
            #expect(sent.allSatisfy { $0.headers["idempotency-key"] == String(key) && $0.body == sent.first?.body })
            #expect(sent.allSatisfy { $0.body.contains(#""dry_run":false"#) && $0.body.contains(#""account":"kim""#) })
        }
    }

    @Test("what is no path of this server is no place to go back to")
    func openRedirects() {
        for path in ["//evil.example", "/\\evil.example", "https://evil.example", "", "evil", "/a\r\nx: y", "/é"] {
            #expect(Redirect.to(path).headers[.location] == "/")
        }
        #expect(Redirect.to("/apps/com.example.game?q=1").headers[.location] == "/apps/com.example.game?q=1")
    }
}
