import Foundation
import LogTesting
import Messages
import Persistence
import PersistenceTesting
import Postgres
import PurchaseModel
import Testing

@testable import Fulfillment

/// What nothing can be learnt of for too long is told of, once, and is asked about all the same.
@Suite("Alarms of old submissions", .enabled(if: TestDatabase.url != nil, Bench.skipComment))
struct AlarmTests {
    private let unavailable = Verdict.unknown(.appStoreUnavailable, retryAfterSeconds: 30)

    private func age(_ bench: Bench, _ id: String, seconds: Int) async throws {
        _ = try await bench.pool.query(
            "UPDATE submissions SET received_at = now() - $2 * interval '1 second' WHERE id = $1",
            [.text(id), .int8(Int64(seconds))])
    }

    @Test func `what is unknown after the age alarms, once, and stays due`() async throws {
        try await Bench.with { bench in
            let unknown = try await bench.verdict("s1", unavailable)
            try await age(bench, "s1", seconds: 3500)
            try await bench.settle([unknown])
            try await bench.lookForAlarms()
            #expect(bench.lines.all.isEmpty)
            try await age(bench, "s1", seconds: 3700)
            try await bench.lookForAlarms()
            try await bench.settle([unknown, unknown])
            try await bench.lookForAlarms()
            #expect(bench.lines.all.count == 1)
            let fields = try #require(bench.lines.all.first?.fields)
            #expect(fields["submission_id"] == "s1" && fields["reason"] == "app_store_unavailable")
            #expect(Set(fields.keys) == ["submission_id", "reason", "age_seconds"], "no proof, no account")
            #expect((3700...3800).contains(Int(fields["age_seconds"] ?? "") ?? 0))
            #expect(
                try await bench.number(
                    "SELECT count(*) FROM submissions WHERE alarmed_at IS NOT NULL AND due_at > now()") == 1)
        }
    }

    @Test func `what never got a verdict alarms too`() async throws {
        try await Bench.with { bench in
            _ = try await bench.verdict("s1", unavailable)
            try await age(bench, "s1", seconds: 3700)
            try await bench.lookForAlarms()
            #expect(bench.lines.all.map { $0.fields["reason"] } == ["no_verdict"])
            #expect(try await SubmissionStore(pool: bench.pool).alarmed().map(\.reason) == [.noVerdict])
        }
    }

    @Test func `several processes that look at once alarm once`() async throws {
        try await Bench.with { bench in
            for index in 0..<40 { _ = try await bench.verdict("s\(index)", unavailable) }
            _ = try await bench.pool.query("UPDATE submissions SET received_at = now() - interval '2 hours'")
            let store = SubmissionStore(pool: bench.pool)
            let found = try await withThrowingTaskGroup(of: [SubmissionStore.Alarm].self) { group in
                for _ in 0..<4 { group.addTask { try await store.raiseAlarms(olderThan: .seconds(3600), limit: 15) } }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(Set(found.map(\.submissionId)).count == found.count)
            try await bench.lookForAlarms()
            #expect(found.count + bench.lines.all.count == 40)
        }
    }

    @Test func `what is settled, young, or settled by the same batch does not alarm`() async throws {
        try await Bench.with { bench in
            let old = try await bench.verdict("s1", unavailable)
            let young = try await bench.verdict("s2", unavailable)
            let settled = try await bench.verdict("s3", .genuine([Bench.entry("t3")]))
            try await bench.settle([settled])
            for id in ["s1", "s3"] { try await age(bench, id, seconds: 9000) }
            let late = try await bench.verdict("s3", unavailable)
            let found = try await bench.verdict("s1", .genuine([Bench.entry("t1")]))
            try await bench.settle([late, young, found, old])
            try await bench.lookForAlarms()
            #expect(bench.lines.all.isEmpty)
            #expect(try await bench.number("SELECT count(*) FROM submissions WHERE alarmed_at IS NOT NULL") == 0)
        }
    }

    @Test func `an outage alarms for everything, in a bounded number of lines`() async throws {
        try await Bench.with { bench in
            var batch: [VerdictMessage] = []
            for index in 0..<60 { batch.append(try await bench.verdict("s\(index)", unavailable)) }
            _ = try await bench.pool.query("UPDATE submissions SET received_at = now() - interval '2 hours'")
            try await bench.settle(batch)
            try await bench.lookForAlarms()
            #expect(bench.lines.all.count == RaiseAlarms.linesPerLook + 1)
            #expect(bench.lines.all.last?.fields == ["count": "10"])
            #expect(try await SubmissionStore(pool: bench.pool).alarmed().map(\.count) == [60])
        }
    }

    @Test func `of very many the oldest alarm first, so many in a look, and at least so many are counted`() async throws
    {
        try await Bench.with { bench in
            let perLook = RaiseAlarms.batchMaximum * RaiseAlarms.batchesPerLook
            let count = SubmissionStore.alarmedCountMaximum + 500
            _ = try await bench.pool.query(
                """
                INSERT INTO submissions (id, due_at, app, account, kind, partition_key, correlation_id, proof, received_at)
                SELECT 'n' || n, now(), 'a', 'p', 'receipt', 'p', 'r', 'x', now() - n * interval '1 second'
                FROM generate_series(3601, 3600 + \(count)) AS n
                """)
            try await bench.lookForAlarms()
            #expect(bench.lines.all.count == RaiseAlarms.linesPerLook + 1)
            #expect(bench.lines.all.last?.fields == ["count": "\(perLook - RaiseAlarms.linesPerLook)"])
            #expect(try await bench.number("SELECT count(*) FROM submissions WHERE alarmed_at IS NOT NULL") == perLook)
            #expect(
                try await bench.number(
                    """
                    SELECT count(*) FROM submissions a WHERE alarmed_at IS NULL AND received_at
                        < (SELECT max(received_at) FROM submissions WHERE alarmed_at IS NOT NULL)
                    """) == 0)
            for _ in 0..<2 { try await bench.lookForAlarms() }
            let alarmed = try await SubmissionStore(pool: bench.pool).alarmed()
            #expect(alarmed.map(\.count) == [Int64(SubmissionStore.alarmedCountMaximum)])
            let age = Double(3600 + count)
            #expect(alarmed.allSatisfy { (age...age + 100).contains($0.oldestSeconds) }, "the oldest, exactly")
            let unsettled = try await BacklogStore(pool: bench.pool).oldestUnsettledSeconds()
            #expect((age...age + 100).contains(try #require(unsettled)))
        }
    }

    @Test func `the gauge tells of each reason, and goes back to zero`() async throws {
        try await Bench.with { bench in
            let refused = try await bench.verdict("s1", .unknown(.appStoreUnauthorized, retryAfterSeconds: 300))
            let down = try await bench.verdict("s2", unavailable)
            _ = try await bench.pool.query("UPDATE submissions SET received_at = now() - interval '2 hours'")
            try await bench.settle([refused, down])
            try await bench.lookForAlarms()
            let gauge = AlarmedGauge(store: SubmissionStore(pool: bench.pool))
            #expect(try await gauge.measure() == [.appStoreUnauthorized: 1, .appStoreUnavailable: 1])
            let oldest = try await SubmissionStore(pool: bench.pool).alarmed().map(\.oldestSeconds)
            #expect(oldest.allSatisfy { (7200...7300).contains($0) })
            try await bench.settle([try await bench.verdict("s2", .genuine([Bench.entry("t1")]))])
            #expect(try await gauge.measure() == [.appStoreUnauthorized: 1, .appStoreUnavailable: 0])
        }
    }
}
