import AsyncHTTPClient
import Foundation
import Messages
import NIOCore
import NIOHTTP1
import Postgres
import Synchronization
import Testing

extension EndToEnd {
    /// Who pulls events, and who follows an account's, loses none when intake dies under them.
    @Suite("Readers of events")
    struct EventReadersTests {
        private static let app = "com.example.game"
        private static let gems = ["bundleId": app, "productId": "gems.100", "type": "Consumable"]

        /// What a reader has read, and how far it came.
        private final class Seen: Sendable {
            private let state = Mutex<(ids: [String], cursor: String?)>(([], nil))
            var ids: [String] { state.withLock { $0.ids } }
            var cursor: String? { state.withLock { $0.cursor } }
            func add(_ ids: [String], _ cursor: String?) {
                state.withLock { state in
                    state.ids += ids
                    if let cursor { state.cursor = cursor }
                }
            }
        }

        private struct Page: Decodable {
            struct Event: Decodable { let id: String }
            let data: [Event]
            let next: String
        }

        @Test("intake is killed under a stream and a pull while purchases go on: both go on from where they were")
        func killed() async throws {
            try await withStack { stack, client, database in
                let account = "reader-\(UUID().uuidString.prefix(8).lowercased())"
                let (pulled, streamed) = (Seen(), Seen())
                let begin = try await client.send(
                    .GET, "\(client.intake)/v1/events?app=\(Self.app)&after=now", headers: client.headers())
                pulled.add([], try JSONDecoder().decode(Page.self, from: begin.body).next)
                let readers = Task {
                    await withTaskGroup(of: Void.self) { group in
                        group.addTask { await Self.pull(client, account, pulled) }
                        group.addTask { await Self.follow(client, account, streamed) }
                    }
                }
                for round in 0..<3 {
                    for sale in try await client.sell(Self.gems, count: 4) {
                        _ = try await client.purchase(sale.signedTransaction, app: Self.app, account: account)
                    }
                    if round < 2 { try await stack.crash("receipt-intake") }
                }
                let deadline = ContinuousClock.now + .seconds(30)
                // Two readers are looked at, which have no signal in common.
                while ContinuousClock.now < deadline, Set(pulled.ids).count < 12 || Set(streamed.ids).count < 12 {
                    // Until the time-out only.
                    try await Task.sleep(for: .milliseconds(50))
                }
                readers.cancel()
                let rows = try await database.rows(
                    "SELECT id FROM events WHERE account = $1 AND app = $2 ORDER BY sequence",
                    [.text(account), .text(Self.app)])
                let told = try rows.map { try $0.decode("id", as: String.self) }
                #expect(told.count == 12)
                #expect(streamed.ids == told, "each once, in its order")
                // A page that was cut off is read again.
                var order: [String] = []
                for id in pulled.ids where !order.contains(id) { order.append(id) }
                #expect(order == told)
                await readers.value
            }
        }

        @Test(
            "the example of a puller is killed again and again while two fulfillment processes write: it has each event once",
            .timeLimit(.minutes(2)))
        func killedReader() async throws {
            try await withStack { stack, client, database in
                let account = "puller-\(UUID().uuidString.prefix(8).lowercased())"
                let books = stack.folder.appending(path: "\(account).sqlite").path
                let key = try stack.setting("COUNTERSIGN_API_KEY")
                let puller = PullerProcess(intake: client.intake, app: Self.app, books: books, apiKey: key)
                let readers = Task { try await puller.runAndKill() }
                do {
                    let went = try await FurtherProcess.run(1, of: "fulfillment", stack, client) { _ in
                        for _ in 0..<10 {
                            try await client.buy(Self.gems, count: 8, app: Self.app, account: account)
                        }
                    }
                    #expect(went, "the second fulfillment process leaves by itself")
                    let ids = try await database.rows(
                        "SELECT id FROM events WHERE account = $1 AND app = $2 ORDER BY sequence",
                        [.text(account), .text(Self.app)]
                    ).map { try $0.decode("id", as: String.self) }
                    #expect(ids.count == 80)
                    try await puller.wait(for: ids.count, of: account)
                    #expect(try await puller.events(of: account) == ids, "each once, in the account's order")
                } catch {
                    readers.cancel()
                    throw error
                }
                readers.cancel()
                let kills = try await readers.value
                print("pullers that were killed: \(kills)")
                #expect(kills > 2)
            }
        }

        /// Pulls with a cursor that it keeps after each page.
        private static func pull(_ client: IntakeClient, _ account: String, _ seen: Seen) async {
            while !Task.isCancelled {
                do {
                    let url =
                        "\(client.intake)/v1/events?app=\(app)&account=\(account)&limit=2&wait=5&after=\(seen.cursor ?? "")"
                    let answer = try await client.send(.GET, url, headers: client.headers())
                    let page = try JSONDecoder().decode(Page.self, from: answer.body)
                    seen.add(page.data.map(\.id), page.next)
                } catch {
                    // Intake is away: it is tried again until it is back, as any client does.
                    try? await Task.sleep(for: .milliseconds(100))
                }
            }
        }

        /// Follows as a browser does: by the last id that it has.
        private static func follow(_ client: IntakeClient, _ account: String, _ seen: Seen) async {
            while !Task.isCancelled {
                do {
                    var request = HTTPClientRequest(
                        url: "\(client.intake)/v1/accounts/\(account)/events?app=\(app)&after=")
                    for (name, value) in client.headers() { request.headers.add(name: name, value: value) }
                    request.headers.add(name: "accept", value: "text/event-stream")
                    if let cursor = seen.cursor { request.headers.add(name: "last-event-id", value: cursor) }
                    let response = try await HTTPClient.shared.execute(request, timeout: .seconds(60))
                    var text = ""
                    for try await part in response.body {
                        text += String(buffer: part)
                        while let end = text.firstRange(of: "\n\n") {
                            note(String(text[..<end.lowerBound]), seen)
                            text = String(text[end.upperBound...])
                        }
                    }
                } catch {
                    // Intake is away: it is tried again until it is back, as any client does.
                    try? await Task.sleep(for: .milliseconds(100))
                }
            }
        }

        private static func note(_ block: String, _ seen: Seen) {
            var (ids, cursor): ([String], String?) = ([], nil)
            for line in block.split(separator: "\n") {
                if line.hasPrefix("id: ") { cursor = String(line.dropFirst(4)) }
                if line.hasPrefix("data: "),
                    let event = try? JSONDecoder().decode(
                        Page.Event.self, from: Data(line.dropFirst(6).utf8))
                {
                    ids.append(event.id)
                }
            }
            seen.add(ids, cursor)
        }
    }
}
