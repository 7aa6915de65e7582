import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Testing

@testable import Console

@Suite("The pages of the console")
struct PageTests {
    private static let gets = AppPages.all.filter { $0.method == .get && !$0.path.hasSuffix(".csv") }.map(\.path)

    private static func page(_ path: String) throws -> AppPage {
        try #require(AppPages.all.first { $0.path == path && $0.method == .get })
    }

    @Test("what strangers wrote is text on every page, never markup", arguments: gets)
    func foreignText(_ path: String) async throws {
        let text = #"<script>alert("1")</script>' onload='x"#
        let page = try Self.page(path)
        try await OpenConsole.open(text, as: .admin) { client, _ in
            let html = try await client.execute(uri: OpenConsole.path(page) + "?q=1", method: .get) {
                #expect($0.status == .ok)
                return String(buffer: $0.body)
            }
            #expect(!html.contains("<script>alert"))
            #expect(!html.contains("' onload='"))
            // It is shown, though: a page that left it out would prove nothing.
            if path != "" { #expect(html.contains("&lt;script&gt;alert"), "\(path)") }
        }
    }

    @Test("every page is in every language, without a key in place of a sentence", arguments: gets, Language.allCases)
    func languages(_ path: String, _ language: Language) async throws {
        let page = try Self.page(path)
        try await OpenConsole.open("granted", as: .admin) { client, _ in
            let headers: HTTPFields = [.acceptLanguage: "\(language.rawValue)-XX,de;q=0.5"]
            let html = try await client.execute(uri: OpenConsole.path(page) + "?q=1", method: .get, headers: headers) {
                String(buffer: $0.body)
            }
            #expect(html.contains("<html lang=\"\(language.rawValue)\">"))
            let keys = html.matches(of: #/>\s*([a-z-]+\.[a-zA-Z_]+)\s*</#).map { String($0.1) }
            #expect(keys.filter { !$0.hasPrefix("com.") } == [])
            #expect(!html.contains("{0}"))
        }
    }

    @Test("nothing comes from elsewhere, and nothing runs inline")
    func policy() async throws {
        try await OpenConsole.open(as: .viewer) { client, _ in
            try await client.execute(uri: "/apps/\(OpenConsole.app)", method: .get) { answer in
                let policy = answer.headers[HTTPField.Name("content-security-policy") ?? .date] ?? ""
                #expect(policy.hasPrefix("default-src 'none'; script-src 'self'; style-src 'self'"))
                #expect(policy.contains("frame-ancestors 'none'"))
                let html = String(buffer: answer.body)
                #expect(!html.contains("style="))
                #expect(!html.contains("javascript:"))
                let scripts = html.matches(of: #/<script([^>]*)>/#).map { String($0.1) }
                #expect(!scripts.isEmpty)
                for script in scripts {
                    #expect(script.contains("src=\"/assets/") && script.contains("integrity=\"sha384-"))
                }
            }
        }
    }

    @Test("styles and scripts may be kept for a year, at an address of their content")
    func assets() async throws {
        try await OpenConsole.open(as: nil) { client, _ in
            let renderer = try PageRenderer(htmx: nil)
            for asset in renderer.assets {
                try await client.execute(uri: asset.path, method: .get) {
                    #expect($0.status == .ok)
                    #expect($0.headers[.cacheControl]?.contains("immutable") == true)
                    #expect(Array($0.body.readableBytesView) == asset.bytes)
                }
            }
            try await client.execute(uri: "/assets/0000/console.css", method: .get) { #expect($0.status == .notFound) }
        }
    }

    @Test("a cell has the members that a template would find by reflection")
    func members() {
        let time = "2026-11-21T15:39:22.104Z"
        for cell in [Cell.state("granted", .good), .code("a", href: "/b"), .time(.string(time)), .number("1")] {
            for (name, value) in Mirror(reflecting: cell).children {
                let optional = Mirror(reflecting: value)
                let expected = optional.displayStyle == .optional ? optional.children.first?.value ?? false : value
                let found = cell.child(named: name ?? "").map { "\($0)" }
                #expect(found == "\(expected)")
            }
            #expect(cell.child(named: "name") == nil)
        }
    }

    @Test("a question to Apple is over once what Apple told of is listed, or when Apple told of nothing")
    func questions() {
        let listed = JSON.list([["transaction_id": "1"]])
        #expect(!QuestionPage.isOver(["state": "running", "found": .integer(0), "recovered": .list([])]))
        #expect(!QuestionPage.isOver(["state": "finished", "found": .integer(1), "recovered": .list([])]))
        #expect(QuestionPage.isOver(["state": "finished", "found": .integer(1), "recovered": listed]))
        #expect(QuestionPage.isOver(["state": "finished", "found": .integer(0), "recovered": .list([])]))
    }

    @Test("a spreadsheet takes no cell for a formula")
    func formulas() async throws {
        try await OpenConsole.open("=1+1\"", as: .viewer) { client, _ in
            let uri = "/apps/\(OpenConsole.app)/money.csv?from=2026-11-01&to=2026-11-02"
            try await client.execute(uri: uri, method: .get) {
                #expect($0.headers[.contentType] == "text/csv; charset=utf-8")
                let text = String(buffer: $0.body)
                #expect(text.contains(#""'=1+1""""#))
                #expect(text.contains(#""4990""#))
            }
        }
    }

    @Test("an alarm links to its page of the runbook, where the website is published")
    func runbook() async throws {
        try await OpenConsole.open("CountersignPurchasesParked", as: .viewer) { client, _ in
            let html = try await client.execute(uri: "/apps/\(OpenConsole.app)", method: .get) {
                String(buffer: $0.body)
            }
            #expect(
                html.contains(
                    #"href="https://docs.example/deploy/monitoring/runbook/CountersignPurchasesParked.html""#))
        }
    }

    @Test("a chart has a place for every day, also for those without a row")
    func days() {
        #expect(MoneyPage.days(from: "2026-02-27", to: "2026-03-01") == ["2026-02-27", "2026-02-28", "2026-03-01"])
        #expect(MoneyPage.days(from: "2026-03-01", to: "2026-02-27").isEmpty)
        #expect(MoneyPage.days(from: "2020-01-01", to: "2026-03-01").isEmpty)
        #expect(MoneyPage.days(from: "x", to: "y").isEmpty)
    }

    @Test("intake is away: every page says so, with the way to the others", arguments: gets)
    func away(_ path: String) async throws {
        let page = try Self.page(path)
        try await OpenConsole.open(as: .admin, isAway: true) { client, _ in
            try await client.execute(uri: OpenConsole.path(page) + "?q=1", method: .get) {
                let html = String(buffer: $0.body)
                #expect($0.status == .serviceUnavailable && html.contains("receipt-intake does not answer"))
                #expect(html.contains("href=\"/apps/\(OpenConsole.app)/undelivered\""))
            }
        }
    }

    @Test("what is typed into a form is asked for as it is: blanks, plus signs, percent signs")
    func typed() async throws {
        let asked = AskedIntake()
        try await OpenConsole.open(as: .viewer, asked: asked) { client, _ in
            for (typed, sent) in [
                ("kim%2Btest%40x.com", "kim%2Btest%40x.com"), ("100%25+sure", "100%25%20sure"), ("+M1+", "M1"),
            ] {
                _ = try await client.execute(uri: "/apps/\(OpenConsole.app)/find?q=\(typed)", method: .get) {
                    $0.status
                }
                #expect(asked.questions.last?.query == "app=\(OpenConsole.app)&q=\(sent)")
            }
        }
    }

    @Test("each list of a page goes on by itself", arguments: gets)
    func next(_ path: String) async throws {
        let asked = AskedIntake()
        let page = try Self.page(path)
        try await OpenConsole.open(as: .admin, asked: asked) { client, _ in
            func get(_ uri: String) async throws -> (links: [String], goingOn: [String]) {
                let before = asked.questions.count
                let html = try await client.execute(uri: uri, method: .get) { String(buffer: $0.body) }
                let links = html.matches(of: #/href="([^"]*)" rel="next"/#).map {
                    String($0.1).replacing("&amp;", with: "&")
                }
                let goingOn = asked.questions.dropFirst(before).filter { $0.query.contains("after=cursor") }
                return (links, goingOn.map(\.path))
            }
            var lists: [String] = []
            for link in try await get(OpenConsole.path(page) + "?q=1").links {
                let goingOn = try await get(link).goingOn
                #expect(goingOn.count == 1, "\(link): \(goingOn)")
                lists += goingOn
            }
            #expect(Set(lists).count == lists.count, "\(lists)")
            if path.hasSuffix("/accounts/{id}") { #expect(lists.count == 4, "\(lists)") }
        }
    }

    @Test("a choice of language leads back to the page, whatever its name is")
    func language() async throws {
        try await OpenConsole.open(as: .viewer) { client, _ in
            let page = "/apps/\(OpenConsole.app)/accounts/%E7%8E%A9%E5%AE%B6%2F50%25off?environment=sandbox"
            let html = try await client.execute(uri: page, method: .get) { String(buffer: $0.body) }
            let link = String(try #require(html.firstMatch(of: #/href="(\/language\/zh[^"]*)"/#)?.1))
            try await client.execute(uri: link.replacing("&amp;", with: "&"), method: .get) {
                #expect($0.status == .seeOther && $0.headers[.location] == page)
            }
        }
    }

    @Test("all that one page asks has one request id, by which who looked is told once; the next page has another")
    func looks() async throws {
        let asked = AskedIntake()
        try await OpenConsole.open(as: .support, asked: asked) { client, _ in
            var ids: [String] = []
            for _ in 0..<2 {
                let before = asked.questions.count
                let html = try await client.execute(
                    uri: "/apps/\(OpenConsole.app)/accounts/kim", method: .get
                ) { String(buffer: $0.body) }
                #expect(html.contains("Who looked at this account"))
                let questions = asked.questions.dropFirst(before)
                #expect(questions.contains { $0.path == "/v1/views" && $0.query.contains("account=kim") })
                let own = Set(questions.map { $0.headers["x-request-id"] ?? "" })
                #expect(own.count == 1 && questions.allSatisfy { $0.headers["countersign-actor"] == "Kim 김" })
                ids += own
            }
            #expect(Set(ids).count == 2 && ids.allSatisfy { $0.hasPrefix("console-") && $0.utf8.count <= 64 }, "\(ids)")
        }
    }

    @Test("a subscription is extended by the days and the reason that were chosen, looked at first")
    func extend() async throws {
        let asked = AskedIntake()
        try await OpenConsole.open(as: .support, asked: asked) { client, _ in
            let purchase = "/apps/\(OpenConsole.app)/purchases/production/1"
            let html = try await client.execute(uri: purchase, method: .get) { String(buffer: $0.body) }
            #expect(html.contains("Ask Apple to extend it") || html.contains("/acts/extend"))
            #expect(html.contains("value=\"service_issue_or_outage\""))
            let form =
                "csrf=\(LoggedIn.token)&reason=ticket&environment=sandbox&original_transaction_id=9&days=14"
                + "&apple_reason=service_issue_or_outage"
            for key in ["", "&key=k"] {
                let page = try await client.execute(
                    uri: "/apps/\(OpenConsole.app)/acts/extend", method: .post,
                    headers: [.contentType: "application/x-www-form-urlencoded"], body: ByteBuffer(string: form + key)
                ) { String(buffer: $0.body) }
                let sent = try #require(asked.questions.last)
                #expect(sent.path == "/v1/subscriptions/9/extend")
                #expect(
                    sent.body
                        == #"{"app":"com.example.game","apple_reason":"service_issue_or_outage","days":14,"dry_run":\#(key.isEmpty),"environment":"sandbox","reason":"ticket"}"#
                )
                // Its confirmation keeps what was chosen.
                if key.isEmpty { #expect(page.contains("name=\"apple_reason\" value=\"service_issue_or_outage\"")) }
            }
        }
    }

    @Test("amounts are written to the thousandth")
    func money() {
        #expect(Money.text(4_990) == "4.99")
        #expect(Money.text(4_995) == "4.995")
        #expect(Money.text(-1_234_567_000) == "−1\u{202f}234\u{202f}567.00")
        #expect(Money.text(5) == "0.005")
        #expect(Money.text(Int64.min).hasPrefix("−9"))
    }
}
