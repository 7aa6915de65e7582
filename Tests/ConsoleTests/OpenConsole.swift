import AsyncHTTPClient
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging

@testable import Console
@testable import ServiceRuntime

/// A console that somebody is logged in to, before a server that answers every question of its with the same document.
///
/// The document has every member that a page reads, each with the same text: what a stranger could have written into a
/// product's name, an account's name, a webhook's answer or a notification.
struct OpenConsole: Sendable {
    static let app = "com.example.game"

    /// What intake answers everything with.
    static func document(_ text: String) -> JSON {
        let names = [
            "account", "transaction_id", "submission_id", "id", "product_id", "reason", "detail", "kind", "event",
            "event_id", "endpoint", "url", "type", "subtype", "actor", "action", "subject", "stage", "state", "item",
            "entitlement", "token", "last_error", "error", "answer", "text", "code", "runbook", "request_id",
            "original_transaction_id", "route", "outcome", "apple_reason", "request_reason", "sent", "withheld",
            "storefront", "currency", "day", "refund_preference", "name", "fingerprint", "level", "remedy",
        ]
        var row = Dictionary(names.map { ($0, JSON.string(text)) }) { first, _ in first }
        for name in [
            "at", "created_at", "created_at", "oldest_at", "since", "purchased_at", "received_at", "viewed_at",
            "asked_at", "looked_at",
        ] {
            row[name] = "2026-11-21T15:39:22.104Z"
        }
        for name in ["count", "pending", "purchases", "amount", "price_milliunits", "gross_milliunits", "attempts"] {
            row[name] = .integer(4_990)
        }
        row["environment"] = "production"
        var document = row
        row["values"] = .object([:])
        row["in_use"] = true
        row["product_type"] = .string(text)
        document["transaction"] = .object(row)
        document["subscription"] = .object(row)
        document["transaction_ids"] = .list([.string(text)])
        document["would_send"] = .object(row)
        document["doctor"] = ["looked_at": "2026-11-21T15:39:22.104Z", "findings": .list([.object(row)])]
        let lists = [
            "data", "sentences", "entries", "submissions", "deliveries", "events", "entitlements", "balances",
            "subscriptions", "transactions", "alarms", "webhooks", "notifications", "minutes", "rows", "totals",
            "recovered", "keys", "findings", "items", "states", "versions", "products", "sold", "parts",
        ]
        for name in lists { document[name] = .list([.object(row)]) }
        // The overview has objects under two of these names.
        document["undelivered"] = .object(row)
        document["purchases"] = ["last_hour": .integer(1), "minutes": .list([.object(row)])]
        document["next"] = .string("cursor")
        return .object(document)
    }

    /// As the console's own.
    private static let http = HTTPClient(eventLoopGroupProvider: .singleton, configuration: WebClient.configuration)

    /// Texts and templates are read once: there is a console for each page and language.
    private static let read = Result { try (texts: Texts.all(), renderer: PageRenderer(htmx: nil)) }

    /// Opens a console for the time of a test.
    ///
    /// - Parameters:
    ///   - text: what strangers wrote.
    ///   - role: of who is logged in; nil where nobody is.
    ///   - isAway: whether nothing listens where intake should be.
    static func open<Result: Sendable>(
        _ text: String = "gems.100", as role: Role?, asked: AskedIntake = AskedIntake(), isAway: Bool = false,
        _ test: @Sendable @escaping (any TestClientProtocol, ConsoleServer) async throws -> Result
    ) async throws -> Result {
        let document = try JSONEncoder().encode(document(text))
        let (texts, renderer) = try read.get()
        let router = Router()
        router.add(middleware: asked)
        for method in [HTTPRequest.Method.get, .post] {
            router.on("/**", method: method) { _, _ in
                Response(status: .ok, body: .init(byteBuffer: ByteBuffer(bytes: document)))
            }
        }
        let intake = Application(router: router, logger: Logger(label: "intake") { _ in SwiftLogNoOpLogHandler() })
        return try await intake.test(.live) { served in
            let server = ConsoleServer(
                address: ListenAddress(host: "127.0.0.1", port: 0), logIn: LoggedIn(role: role),
                intake: IntakeClient(
                    http: http, address: "http://127.0.0.1:\(isAway ? 1 : served.port ?? 0)",
                    key: Redacted("csk_test")),
                apps: [app], site: "https://docs.example/", texts: texts, renderer: renderer,
                logger: Logger(label: "console") { _ in SwiftLogNoOpLogHandler() })
            return try await Application(router: server.router()).test(.router) { try await test($0, server) }
        }
    }

    /// The address of a page with its parameters filled in.
    static func path(_ page: AppPage) -> String {
        let parts = [
            "{environment}": "production", "{id}": "2000000000000010", "{event}": "evt_1", "{endpoint}": "backend",
        ]
        return "/apps/\(app)" + parts.reduce(page.path) { $0.replacing($1.key, with: $1.value) }
    }
}

/// Somebody who is logged in already.
struct LoggedIn: LogIn {
    static let token = "the-token-of-this-visit"
    let role: Role?
    var routes: [ConsoleRoute] { [] }

    func visit(of request: Request, _ context: ConsoleContext) async throws -> Visit? {
        role.map {
            Visit(person: Person(id: "1", name: "Kim 김", role: $0), session: "s1", csrfToken: Self.token)
        }
    }
}
