import Foundation
import Persistence
import Postgres
import ServerTesting
import Testing
import WebhookSigning

@testable import Notification

/// What is written down of every attempt.
@Suite(.enabled(if: TestDatabase.url != nil, Comment(rawValue: TestDatabase.skipComment)), .timeLimit(.minutes(2)))
struct AttemptRecordTests: DeliverySuite {
    let secret = WebhookSecret.generate()

    @Test func everyAttemptIsWrittenDownWithWhatWasAnswered() async throws {
        try await TestDatabase.with { database in
            let long = String(repeating: "é", count: 4_000)
            let answers: [WebhookReceiver.Answer] = [
                .status(500, body: "busy\u{0}\u{1B}[31m"), .status(302, headers: [("location", "http://127.0.0.1:1/")]),
                .close, .status(200, body: long),
            ]
            try await WebhookReceiver.with(answer: { index, _ in answers[min(index, 3)] }) { receiver, port in
                let endpoints = [try endpoint(port)]
                var settings = settings()
                settings.schedule = RetrySchedule(delays: Array(repeating: .milliseconds(20), count: 9))
                let began = Date()
                try await takeOver(database, ["evt_1"], endpoints)
                try await running([loop(database, endpoints, settings)]) { await receiver.waitForRequests(4) }
                let reading = DeliveryReading(pool: database.pool)
                let found = try await reading.attempts(event: "evt_1", endpoint: "backend", app: "com.example.game")
                let attempts = try #require(found).attempts.reversed() as [DeliveryReading.Attempt]
                #expect(attempts.map(\.number) == [1, 2, 3, 4])
                #expect(attempts.map(\.status) == [500, 302, nil, 200])
                #expect(attempts.map(\.answer) == ["busy  [31m", nil, nil, String(repeating: "é", count: 1_024)])
                #expect(attempts[2].error?.hasPrefix("no answer: ") == true)
                #expect(attempts.map { $0.error == nil } == [true, true, false, true])
                for attempt in attempts {
                    #expect((0..<60_000).contains(attempt.milliseconds))
                    #expect(attempt.at.timeIntervalSince(began) > -1 && attempt.at <= Date())
                }
                #expect(try await reading.attempts(event: "evt_1", endpoint: "backend", app: "another") == nil)
                #expect(try await reading.attempts(event: "evt_1", endpoint: "another", app: nil) == nil)
                let parts = try await database.pool.query("SELECT count(*) AS count FROM webhook_attempts_other")
                #expect(try parts.rows[0].decode("count", as: Int64.self) == 0, "this month has its partition")
            }
        }
    }

    @Test func deliveriesAreReadTheNewestFirstAPageAtATime() async throws {
        try await TestDatabase.with { database in
            let endpoints = [try endpoint(1), try endpoint(1, id: "other")]
            let ids = (1...5).map { "evt_\($0)" }
            try await takeOver(database, ids, endpoints)
            let reading = DeliveryReading(pool: database.pool)
            var selection = DeliveryReading.Selection()
            var found: [String] = []
            var position: DeliveryReading.Position?
            repeat {
                let page = try await reading.page(selection, after: position, limit: 3)
                found += page.deliveries.map { "\($0.event) \($0.endpoint)" }
                position = page.next
            } while position != nil
            #expect(found == ids.reversed().flatMap { ["\($0) other", "\($0) backend"] })
            _ = try await database.pool.query(
                "UPDATE webhook_deliveries SET state = 'abandoned', due_at = NULL WHERE event_id = 'evt_2'")
            (selection.endpoint, selection.state) = ("other", "abandoned")
            #expect(try await reading.page(selection, after: nil, limit: 10).deliveries.map(\.event) == ["evt_2"])
            selection.state = "pending"
            #expect(try await reading.page(selection, after: nil, limit: 10).deliveries.count == 4)
            selection.app = "another"
            let none = try await reading.page(selection, after: nil, limit: 10)
            #expect(none.deliveries.isEmpty && none.next == nil)
        }
    }
}
