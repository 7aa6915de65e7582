import EventProcessing
import Foundation
import HTTPTypes
import HummingbirdTesting
import Messages
import Persistence
import Postgres
import PurchaseModel
import Testing

@testable import ReceiptIntake

@Suite(
    "What becomes of notifications, which are nobody's submissions",
    .enabled(if: TestDatabase.serverURL != nil, TestDatabase.skipComment), .timeLimit(.minutes(2)))
struct NotificationLifeTests {
    @Test("one that is due is sent again as it was, to the topic of what is settled offline, after a restart too")
    func redriven() async throws {
        try await TestDatabase.with { database in
            let notification = try NotificationPayload.renewal()
            let id = try await TestIntake.with(url: database.url) { try await $0.notify(notification).id }
            _ = try await database.pool.query("UPDATE submissions SET due_at = now()", [])
            let store = SubmissionStore(pool: database.pool)
            let sent = Mutexed<[SubmissionStore.NewSubmission]>([])
            let redrive = SubmissionRedrive(
                claim: { try await store.claimDue(limit: $0, lease: .seconds(30), leaseMaximum: .seconds(600)) },
                publish: { due in
                    sent.withLock { $0 += due }
                    return 0
                })
            #expect(try await redrive(limit: 500).count == 1)
            let again = try #require(sent.withLock { $0.first })
            #expect(again.message.submissionId == id && again.message.account.isEmpty)
            #expect(again.message.kind == .serverNotification && again.message.proof == notification)
            #expect(again.message.attempt == 1 && !again.message.isClaimCheck)
            #expect(again.partitionKey == "2000000777")
            #expect(again.message.kind.topic == Topics.submissions)
            #expect(try await redrive(limit: 500).count == 0)
        }
    }

    @Test("one that gets no outcome raises an alarm, an operator finds it, and may run a rejected one again")
    func operators() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { intake in
                let notification = try NotificationPayload.renewal()
                let id = try await intake.notify(notification).id
                let alarms = try await SubmissionStore(pool: database.pool).raiseAlarms(olderThan: .zero, limit: 10)
                #expect(alarms.map(\.submissionId) == [id])
                #expect(try await BacklogStore(pool: database.pool).oldestUnsettledSeconds() != nil)
                let dossier = try #require(try await InspectionStore(pool: database.pool).inspect(id))
                let found = try JSONSerialization.jsonObject(with: Data(dossier.utf8)) as? [String: [[String: Any]]]
                let row = try #require(found?["submissions"]?.first)
                #expect(row["kind"] as? String == "server_notification" && row["account"] as? String == "")
                #expect(!dossier.contains(notification.prefix(40)))
                let refused = SubmissionOutcome(state: .rejected, finish: false, reason: .appUnknown)
                _ = try await database.pool.withTransaction {
                    try await SubmissionStore.settle([SettlementMessage(submissionId: id, outcome: refused)], on: $0)
                }
                let told = try await intake.send(.get, "/v1/purchases/\(id)", token: TestIntake.serverKey)
                #expect(told.status == 200 && told.state == "rejected")
                #expect(try await intake.notify(notification).text == "{\"id\":\"\(id)\"}", "whatever became of it")
                let redriven = try await SubmissionStore(pool: database.pool)
                    .redrive(.rejected(reason: "app_unknown"), reason: "listed", actor: "test", limit: 10)
                #expect(redriven.map(\.id) == [id])
                #expect(try await database.column("state", of: id) == "received")
            }
        }
    }

    @Test("an account's own purchases do not know of it")
    func notCounted() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { intake in
                _ = try await intake.notify(NotificationPayload.renewal())
                let player = try TestTokens.hs256(TestTokens.claims("player-1"))
                let path = "/v1/accounts/player-1"
                let transactions = try await intake.send(
                    .get, path + "/transactions?app=\(TestIntake.app)", token: player)
                #expect((transactions.fields["data"] as? [Any])?.isEmpty == true)
                let account = try await intake.send(.get, path + "?app=\(TestIntake.app)", token: player)
                #expect(account.fields["version"] as? Int == 0)
            }
        }
    }

    @Test("a hundred posts of one notification at once are one row and a hundred equal answers")
    func atOnce() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url) { intake in
                let notification = try NotificationPayload.renewal()
                let answers = try await withThrowingTaskGroup(of: TestIntake.Answer.self) { group in
                    for _ in 0..<100 { group.addTask { try await intake.notify(notification) } }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(answers.allSatisfy { $0.status == 200 })
                #expect(Set(answers.map(\.text)).count == 1)
                #expect(try await database.submissionCount() == 1)
                #expect(intake.published.withLock(\.count) == 1)
            }
        }
    }

    @Test("a full queue and a database that is away are 503: Apple comes again")
    func putOff() async throws {
        try await TestDatabase.with { database in
            try await TestIntake.with(url: database.url, queueMaximum: 0) { intake in
                let answer = try await intake.notify(NotificationPayload.renewal())
                #expect(answer.slug == "notifications-put-off" && answer.headers[.retryAfter] == "1")
            }
            #expect(try await database.submissionCount() == 0)
        }
        try await TestIntake.with(url: "postgresql://nobody@127.0.0.1:1/none?connect_timeout=2") { intake in
            let answer = try await intake.notify(NotificationPayload.renewal())
            #expect(answer.slug == "database-unavailable" && answer.headers[.retryAfter] == "5")
        }
    }

    @Test("so many may wait for their commit and no more, and purchases still find room beside them")
    func room() async throws {
        let batcher = SubmissionBatcher(queueMaximum: 10) { rows in
            (new: Set(rows.map(\.message.submissionId)), existing: [:])
        } onAccepted: { _ in
        }
        let submissions = NotificationSubmissions(batcher: batcher, underWayMaximum: 3)
        @Sendable func accept() async throws -> (id: String, isNew: Bool) {
            let notification = try #require(ServerNotification(try NotificationPayload.renewal()))
            return try await submissions.accept(notification, correlationId: "c")
        }
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<3 { group.addTask { try await accept().isNew } }
            // Nothing is written yet: the three wait in the queue.
            while batcher.waitingCount < 3 { await Task.yield() }
            await #expect(throws: IntakeOverloadedError.self) { try await accept() }
            let writer = Task { try await batcher.run() }
            for try await isNew in group { #expect(isNew) }
            #expect(try await accept().isNew, "there is room again")
            writer.cancel()
            _ = try await writer.value
        }
        #expect(NotificationSubmissions.Limit.underWayMaximum < 2000)
    }
}
