import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Testing

@testable import Console

@Suite("Acts for many rows")
struct ManyTests {
    private static let form =
        "csrf=\(LoggedIn.token)&reason=ticket&account=kim&rows=production%201,production%202,sandbox%203"

    private static func send(
        _ client: any TestClientProtocol, _ act: ManyAct, _ body: String
    ) async throws -> TestResponse {
        try await client.execute(
            uri: "/apps/\(OpenConsole.app)/acts/\(act.rawValue)", method: .post,
            headers: [.contentType: "application/x-www-form-urlencoded"], body: ByteBuffer(string: body))
    }

    private static func key(_ page: TestResponse) throws -> String {
        String(try #require(String(buffer: page.body).firstMatch(of: #/name="key" value="([0-9a-f-]{36})"/#)).1)
    }

    @Test("the chosen rows are looked at first; each is sent once under a key of its own, however often the form is")
    func twice() async throws {
        let asked = AskedIntake()
        try await OpenConsole.open(as: .support, asked: asked) { client, _ in
            let chosen = Self.form + "&row_0=production%201&row_2=sandbox%203"
            let look = try await Self.send(client, .assign, chosen)
            #expect(look.status == .ok)
            #expect(Set(asked.questions.map(\.path)) == ["/v1/orders/1/assign", "/v1/orders/3/assign"])
            #expect(asked.questions.allSatisfy { $0.body.contains(#""dry_run":true"#) })
            #expect(asked.questions.allSatisfy { $0.headers["idempotency-key"] == nil })
            let key = try Self.key(look)
            let before = asked.questions.count
            for _ in 1...2 { _ = try await Self.send(client, .assign, chosen + "&key=\(key)") }
            let sent = asked.questions.dropFirst(before)
            let keys = sent.compactMap { $0.headers["idempotency-key"] }
            #expect(sent.count == 4 && keys.count == 4 && Set(keys).count == 2)
            for path in Set(sent.map(\.path)) {
                let same = sent.filter { $0.path == path }
                #expect(Set(same.map { "\($0.headers["idempotency-key"] ?? "") \($0.body)" }).count == 1)
            }
            #expect(sent.contains { $0.body.contains(#""environment":"sandbox""#) })
            #expect(sent.allSatisfy { $0.body.contains(#""account":"kim""#) })
        }
    }

    @Test("all rows of the form are meant by its second button, and no more than a form may have")
    func all() async throws {
        let asked = AskedIntake()
        try await OpenConsole.open(as: .support, asked: asked) { client, _ in
            _ = try await Self.send(client, .retry, Self.form + "&all=true")
            #expect(asked.questions.map(\.path) == Array(repeating: "/v1/submissions/retry", count: 3))
            #expect(asked.questions.contains { $0.body.contains(#""submissions":["3"]"#) })
        }
        let rows = (0..<200).map { "production \($0)" }.joined(separator: ",")
        #expect(ManyPage.chosen(["all": "true", "rows": rows]).count == ManyPage.Limit.rows)
        #expect(ManyPage.chosen(["all": "true", "rows": "a 1,a 1,x,,b c d,b 2"]).map(\.text) == ["a 1", "b 2"])
    }

    @Test("nothing is chosen: nothing is asked, and the page says what to do")
    func none() async throws {
        let asked = AskedIntake()
        try await OpenConsole.open(as: .support, asked: asked) { client, _ in
            let page = try await Self.send(client, .assign, Self.form)
            #expect(page.status == .unprocessableContent && asked.questions.isEmpty)
            #expect(String(buffer: page.body).contains("Nothing is chosen"))
        }
    }

    @Test("an interruption leaves rows for the next click, under the same key")
    func interrupted() async throws {
        try await OpenConsole.open(as: .support, isAway: true) { client, _ in
            let key = UUID().uuidString.lowercased()
            let page = try await Self.send(client, .assign, Self.form + "&all=true&key=\(key)")
            #expect(page.status == .ok)
            #expect(try Self.key(page) == key)
            let html = String(buffer: page.body)
            #expect(html.contains("0 of 3 are done") && html.contains("Go on with the rest"))
            #expect(html.contains(#"name="rows" value="production 1,production 2,sandbox 3""#))
        }
    }

    @Test(
        "each reason has the one act that ends it",
        arguments: [
            ("parked", "unclaimed", ManyAct.assign), ("parked", "account_token_unknown", .assign),
            ("parked", "product_unknown", .retry), ("undecided", "app_store_unavailable", .retry),
            ("untold", "webhook_abandoned", .resend),
        ])
    func ending(stage: String, reason: String, act: ManyAct) {
        #expect(ManyAct.ending(stage: stage, reason: reason) == act)
    }
}
