import Foundation
import NIOHTTP1
import WebhookSigning

/// Follows the events of an app at Countersign, shows them, and forwards each as the webhook that an endpoint would get.
///
/// It asks intake (`GET /v1/events`), so that nothing has to reach this machine from outside.
struct EventListener: Sendable {
    private enum Limit {
        /// How long intake holds an answer back until there is something, in seconds.
        static let wait = 20
        /// Events asked for at a time.
        static let page = 50
        /// How long a server may take: for a page beyond its wait, and for a webhook.
        static let answer = Duration.seconds(15)
        /// Pauses while intake cannot be reached: from, to.
        static let pause = (first: Duration.milliseconds(200), last: Duration.seconds(5))
    }

    let http: HTTPCaller
    /// Intake's address, without a slash at its end.
    let intake: String
    let app: String
    let apiKey: String
    /// Types of events, each with `*` at its end or none; empty for all.
    let types: [String]
    let forwardTo: String?
    let secret: WebhookSecret
    let printsJSON: Bool
    /// How many are shown before it ends; nil for ever.
    let once: Int?
    let show: @Sendable (String) -> Void

    /// Listens from now on, until it is cancelled or has seen enough.
    ///
    /// - Throws: `CancellationError`; `ToolFailure` when intake refuses, or is not there from the start.
    func listen() async throws {
        var place = try await page(after: "now", wait: 0).next
        show("Listening to \(intake)\(forwardTo.map { ", forwarding to \($0)" } ?? "")")
        var seen = 0
        var pause = Limit.pause.first
        while true {
            try Task.checkCancellation()
            let page: Page
            do {
                page = try await self.page(after: place, wait: Limit.wait)
            } catch let refusal as ToolFailure {
                throw refusal
            } catch {
                try Task.checkCancellation()
                if pause == Limit.pause.first { show("Intake does not answer; trying on") }
                try await Task.sleep(for: pause)
                pause = min(pause * 2, Limit.pause.last)
                continue
            }
            pause = Limit.pause.first
            for event in page.events {
                await handle(event)
                seen += 1
                if let once, seen >= once { return }
            }
            place = page.next
        }
    }

    struct Page: Sendable {
        let events: [JSONValue]
        /// Where the next one begins.
        let next: String
    }

    /// - Throws: `ToolFailure` for a refusal; otherwise what is worth another try.
    private func page(after place: String, wait: Int) async throws -> Page {
        var query =
            "app=\(ControlClient.escaped(app))&after=\(ControlClient.escaped(place))&limit=\(Limit.page)&wait=\(wait)"
        if !types.isEmpty { query += "&types=\(ControlClient.escaped(types.joined(separator: ",")))" }
        let answer = try await http.call(
            .GET, "\(intake)/v1/events?\(query)", headers: [("authorization", "Bearer \(apiKey)")],
            timeout: .seconds(wait) + Limit.answer)
        if answer.status == 429 || answer.status >= 500 { throw NotNow() }
        guard answer.isSuccess, let page = Self.page(answer.body) else {
            let problem = JSONValue(json: answer.body)
            let said = problem?["detail"]?.text ?? problem?["title"]?.text ?? "it lists no events"
            throw ToolFailure("intake at \(intake) answers \(answer.status): \(said)")
        }
        return page
    }

    private struct NotNow: Error {}

    /// What a page says; nil when it is none.
    static func page(_ body: Data) -> Page? {
        guard let value = JSONValue(json: body), let events = value["data"]?.list, let next = value["next"]?.text
        else { return nil }
        return Page(events: events, next: next)
    }

    private func handle(_ event: JSONValue) async {
        show(Self.line(event))
        if printsJSON { show(event.json) }
        guard let forwardTo, let id = event["id"]?.text else { return }
        // Sorted keys, no line breaks and slashes as they are: the bytes of Countersign's own webhook.
        let body = [UInt8](event.json.utf8)
        let headers = WebhookSigner(secrets: [secret]).headers(id: id, timestamp: Date(), body: body)
        let result: String
        do {
            let answer = try await http.call(
                .POST, forwardTo, json: Data(body), headers: headers.map { ($0.name, $0.value) }, timeout: Limit.answer)
            result = "\(answer.status)"
        } catch {
            if Task.isCancelled { return }
            result = ControlClient.plain(error)
        }
        show("  <-- [\(result)] POST \(forwardTo) [\(id)]")
    }

    /// `2026-11-21T15:39:21.497Z  --> iap.transaction.fulfilled  [evt_…]  player-1 #3`.
    static func line(_ event: JSONValue) -> String {
        let customer = event["customer"]
        let whose = customer?["id"]?.text.map { "  \($0) #\(customer?["sequence"]?.plain ?? "")" } ?? ""
        return
            "\(event["timestamp"]?.text ?? "")  --> \(event["type"]?.text ?? "")  [\(event["id"]?.text ?? "")]\(whose)"
    }
}
