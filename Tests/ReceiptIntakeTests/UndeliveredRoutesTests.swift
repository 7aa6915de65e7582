import Foundation
import HTTPTypes
import Persistence
import Testing

@testable import ReceiptIntake

@Suite(
    "What is paid and not delivered, and the overview",
    .enabled(if: TestDatabase.serverURL != nil, TestDatabase.skipComment), .timeLimit(.minutes(2)))
struct UndeliveredRoutesTests {
    @Test("rows come stage by stage, the oldest first, as `countersign undelivered` has them")
    func rows() async throws {
        try await ListRows.with { intake, rows in
            try await rows.story()
            for id in 0..<5 { try await rows.order("20\(id)", reason: "account_token_unknown", ago: 2_000) }
            var selection = LostPurchasesStore.Selection()
            selection.app = ListRows.app
            let known = try await LostPurchasesStore(pool: rows.pool).rows(selection, limit: 100)
            func ids(_ stage: String) -> [String] {
                known.filter { $0.stage == stage }.compactMap { $0.transactionId ?? $0.submissionId }
            }
            #expect(ids("parked").count == 7 && ids("undecided") == ["sub_b"] && ids("untold").count == 1)
            for limit in [1, 2, 7, 8, 100] {
                let found = try await intake.all("transaction_id", of: "/v1/undelivered", limit: limit)
                #expect(found == ids("parked") + ids("untold"), "\(limit)")
                let stages = try await intake.all("stage", of: "/v1/undelivered", limit: limit)
                #expect(stages == Array(repeating: "parked", count: 7) + ["undecided", "untold"], "\(limit)")
            }
            let filters: [(String, Int)] = [
                ("&stage=parked", 7), ("&stage=undecided", 1), ("&stage=untold", 1), ("&reason=unclaimed", 1),
                ("&environment=sandbox", 1), ("&older_than=1000", 6), ("&older_than=100000", 0),
            ]
            for (query, count) in filters {
                #expect(try await intake.rows("/v1/undelivered", query).count == count, "\(query)")
            }
            let untold = try #require(try await intake.rows("/v1/undelivered", "&stage=untold").first)
            #expect(untold["event_id"] is String && untold["reason"] as? String == "webhook_abandoned")
            #expect(try #require(untold["age_seconds"] as? Int) >= 3_600)
        }
    }

    @Test("reasons have the counts of `countersign undelivered`")
    func reasons() async throws {
        try await ListRows.with { intake, rows in
            try await rows.story()
            var selection = LostPurchasesStore.Selection()
            selection.app = ListRows.app
            let known = try await LostPurchasesStore(pool: rows.pool).groups(selection)
            let found = try await intake.rows("/v1/undelivered/reasons")
            func line(_ parts: [String?]) -> String { parts.map { $0 ?? "-" }.joined(separator: " ") }
            #expect(
                found.map {
                    line([
                        $0["stage"] as? String, $0["environment"] as? String, $0["reason"] as? String,
                        ($0["count"] as? Int).map { "\($0)" },
                    ])
                } == known.map { line([$0.stage, $0.environment, $0.reason, "\($0.count)"]) })
            #expect(found.count == 4)
            let unclaimed = try #require(found.first { $0["reason"] as? String == "unclaimed" })
            #expect(unclaimed["needs_somebody"] as? Bool == false && unclaimed["at_least"] as? Bool == false)
            #expect(try #require(unclaimed["oldest_seconds"] as? Int) >= 700)
        }
    }

    @Test("the overview has purchases of the hour, what waits, what is wrong and where to read on")
    func overview() async throws {
        try await ListRows.with { intake, rows in
            try await rows.story()
            try await rows.run("UPDATE submissions SET alarmed_at = now() WHERE id LIKE 'sub_b%'")
            let overview = try await intake.list("/v1/overview").fields
            let purchases = try #require(overview["purchases"] as? [String: Any])
            #expect(purchases["last_hour"] as? Int == 3, "the sandbox has its own")
            let minutes = try #require(purchases["minutes"] as? [[String: Any]])
            #expect(minutes.count == 60 && minutes.compactMap { $0["purchases"] as? Int }.reduce(0, +) == 3)
            let undelivered = try #require(overview["undelivered"] as? [String: Any])
            #expect(undelivered["count"] as? Int == 4 && undelivered["needs_somebody"] as? Int == 3)
            let notifications = try #require(overview["notifications"] as? [[String: Any]])
            #expect(notifications.map { $0["type"] as? String } == ["REFUND", "TEST"])
            let webhooks = try #require(overview["webhooks"] as? [[String: Any]])
            #expect(webhooks.count == 1 && webhooks[0]["pending"] as? Int == 2 && webhooks[0]["abandoned"] as? Int == 1)
            #expect((overview["submissions"] as? [String: Any])?["waiting"] as? Int == 1)
            let alarms = try #require(overview["alarms"] as? [[String: Any]])
            #expect(
                Set(alarms.compactMap { $0["code"] as? String }) == [
                    "submissions_alarmed", "orders_parked", "orders_unclaimed", "webhooks_abandoned",
                    "refund_requests_due",
                ])
            let sandbox = try await intake.list("/v1/overview", "&environment=sandbox").fields
            #expect((sandbox["purchases"] as? [String: Any])?["last_hour"] as? Int == 1)
        }
    }

    @Test("each page of the runbook that an alarm names is there")
    func runbook() {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../deploy/monitoring/runbook")
        for code in OverviewAlarm.Code.allCases {
            guard let page = code.runbook else { continue }
            #expect(FileManager.default.fileExists(atPath: folder.appending(path: "\(page).md").path), "\(page)")
        }
    }
}
