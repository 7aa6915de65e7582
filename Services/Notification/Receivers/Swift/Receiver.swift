import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import WebhookSigning

/// Receives Countersign's webhooks, with the library `WebhookSigning` of this package and Hummingbird.
///
/// usage: COUNTERSIGN_WEBHOOK_SECRET=whsec_… webhook-receiver-example PORT
@main
struct Receiver {
    /// What every message has.
    struct Kind: Decodable, Sendable { let type: String }

    /// What is read of an event; whatever else it has is ignored.
    struct Event: Decodable, Sendable {
        struct Customer: Decodable, Sendable { let id: String, sequence: Int64 }
        struct Entry: Decodable, Sendable { let item: String, amount: Int64 }
        struct Payload: Decodable, Sendable { let entries: [Entry] }
        let id: String, type: String, app: String, environment: String
        let customer: Customer?
        let data: Payload
    }

    /// Yours is a database: written in one transaction with what an event does.
    actor Book {
        private var seen: Set<String> = []
        private var newest: [String: Int64] = [:]

        func take(_ event: Event) -> String {
            guard seen.insert(event.id).inserted else { return "seen before" }
            let (account, sequence) = (event.customer?.id ?? "nobody", event.customer?.sequence ?? 0)
            let whose = "\(event.app) \(event.environment) \(account)"
            // Items are added whatever came before; where something stands is what the highest sequence says.
            let isNewest = sequence >= newest[whose, default: 0]
            if isNewest { newest[whose] = sequence }
            let entries = event.data.entries.map { "\($0.amount) \($0.item)" }
            return "\(event.type) \(account) \(entries) \(isNewest ? "newest" : "late")"
        }
    }

    static func main() async throws {
        let secrets = ProcessInfo.processInfo.environment["COUNTERSIGN_WEBHOOK_SECRET"]?.split(separator: " ") ?? []
        let verifier = WebhookVerifier(secrets: try secrets.map { try WebhookSecret(String($0)) })
        let book = Book()
        let router = Router()
        router.post("/") { request, _ -> HTTPResponse.Status in
            // The bytes as they came: JSON that was read and written again is another text.
            let body = Array(try await request.body.collect(upTo: 1 << 20).readableBytesView)
            func header(_ name: String) -> String { HTTPField.Name(name).flatMap { request.headers[$0] } ?? "" }
            do {
                try verifier.verify(
                    id: header("webhook-id"), timestamp: header("webhook-timestamp"),
                    signature: header("webhook-signature"), body: body, now: Date())
            } catch { return .unauthorized }
            let type = try JSONDecoder().decode(Kind.self, from: Data(body)).type
            guard type.hasPrefix("iap.") else { return .noContent }  // countersign.ping, which is about nobody.
            let line = await book.take(try JSONDecoder().decode(Event.self, from: Data(body)))
            FileHandle.standardOutput.write(Data("\(line)\n".utf8))
            return .noContent  // 2xx only when it is safe in your database.
        }
        let port = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 8090
        try await Application(router: router, configuration: .init(address: .hostname("127.0.0.1", port: port)))
            .runService()
    }
}
