import Foundation
import HTTPTypes
import ServiceRuntime
import Testing

@testable import ReceiptIntake

@Suite(
    "Deliveries of webhooks and their attempts",
    .enabled(if: TestDatabase.serverURL != nil, TestDatabase.skipComment), .timeLimit(.minutes(2)))
struct DeliveryRoutesTests {
    private func with(_ body: @Sendable (TestIntake, ResendRows) async throws -> Void) async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { intake in
                try await body(intake, ResendRows(pool: database.pool))
            }
        }
    }

    private func list(_ intake: TestIntake, _ query: String = "") async throws -> [[String: Any]] {
        let answer = try await intake.send(
            .get, "/v1/webhooks/deliveries?app=\(TestIntake.app)\(query)", token: TestIntake.key(.read))
        #expect(answer.status == 200, "\(answer.text)")
        return try #require(answer.fields["data"] as? [[String: Any]])
    }

    @Test("an app's deliveries are told, the newest first, by every filter, and nobody else's")
    func filters() async throws {
        try await with { intake, rows in
            let old = try await rows.write(1, hoursAgo: 30)
            let taken = try await rows.write(2, state: "delivered", endpoint: "stats", hoursAgo: 20)
            let waiting = try await rows.write(1, state: "pending", hoursAgo: 10)
            try await rows.write(1, app: TestIntake.otherApp)
            let all = try await list(intake)
            #expect(all.compactMap { $0["event_id"] as? String } == waiting + taken.sorted().reversed() + old)
            #expect(all[0]["state"] as? String == "pending" && all[0]["due_at"] is String)
            #expect(all[3]["attempts"] as? Int == 10 && all[3]["due_at"] == nil)
            #expect(try await list(intake, "&state=delivered").count == 2)
            #expect(try await list(intake, "&endpoint=stats&state=pending").isEmpty)
            #expect(try await list(intake, "&event=\(old[0])").count == 1)
            var (found, query): ([String], String?) = ([], "&limit=3")
            while let next = query {
                let answer = try await intake.send(
                    .get, "/v1/webhooks/deliveries?app=\(TestIntake.app)\(next)", token: TestIntake.key(.read))
                found += try #require(answer.fields["data"] as? [[String: Any]]).compactMap {
                    $0["event_id"] as? String
                }
                query = (answer.fields["next"] as? String).map { "&limit=3&after=\($0)" }
            }
            #expect(found == all.compactMap { $0["event_id"] as? String })
        }
    }

    @Test("the attempts of a delivery are told, of the own app")
    func attempts() async throws {
        try await with { intake, rows in
            let own = try await rows.write(1)
            let others = try await rows.write(1, app: TestIntake.otherApp)
            try await rows.attempt(own + others)
            try await rows.attempt(own, number: 2, answer: nil)
            func ask(_ event: String, _ query: String = "") async throws -> TestIntake.Answer {
                try await intake.send(
                    .get, "/v1/webhooks/deliveries/\(event)/backend/attempts?app=\(TestIntake.app)\(query)",
                    token: TestIntake.key(.read))
            }
            let answer = try await ask(own[0])
            #expect(answer.status == 200 && answer.fields["has_more"] as? Bool == false, "\(answer.text)")
            let attempts = try #require(answer.fields["data"] as? [[String: Any]])
            #expect(attempts.map { $0["number"] as? Int } == [2, 1])
            #expect(attempts[1]["status"] as? Int == 503 && attempts[1]["answer"] as? String == "busy")
            #expect(attempts[0]["status"] == nil && attempts[0]["error"] as? String == "no answer: reset")
            let first = try await ask(own[0], "&limit=1")
            #expect(first.numbers == [2] && first.fields["has_more"] as? Bool == true)
            let second = try await ask(own[0], "&limit=1&after=\(first.next)")
            #expect(second.numbers == [1] && second.fields["has_more"] as? Bool == false)
            #expect(second.fields["next"] is NSNull, "a list that ends says so")
            #expect(try await ask(own[0], "&after=x").slug == "field-invalid")
            #expect(try await ask(others[0]).status == 404)
            #expect(try await ask("evt_none").status == 404)
        }
    }
}

extension TestIntake.Answer {
    fileprivate var numbers: [Int] { (fields["data"] as? [[String: Any]] ?? []).compactMap { $0["number"] as? Int } }
}
