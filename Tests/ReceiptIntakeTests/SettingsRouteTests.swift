import Foundation
import Persistence
import ServiceRuntime
import Testing

@testable import ReceiptIntake

@Suite(
    "Settings, as people without a shell see them",
    .enabled(if: TestDatabase.serverURL != nil, TestDatabase.skipComment), .timeLimit(.minutes(2)))
struct SettingsRouteTests {
    private static func keys(_ answer: TestIntake.Answer) throws -> [String: [String: Any]] {
        let keys = try #require(answer.fields["keys"] as? [[String: Any]], "\(answer.text)")
        return Dictionary(uniqueKeysWithValues: keys.compactMap { key in (key["name"] as? String).map { ($0, key) } })
    }

    private static func settings(_ intake: TestIntake) async throws -> TestIntake.Answer {
        try await intake.list("/v1/settings", token: TestIntake.key(.operate))
    }

    @Test("an app's keys are told by name, with their last use, also of a use that another process saw later")
    func keys() async throws {
        try await ListRows.with { intake, rows in
            let first = try Self.keys(try await Self.settings(intake))
            #expect(first["console"]?["scopes"] as? [String] == ["read", "staff"])
            #expect(first["operator"] == nil, "another app's")
            #expect(first.values.allSatisfy { $0["last_used_at"] == nil })
            _ = try await intake.list("/v1/overview")
            let store = ServerKeyUseStore(pool: rows.pool)
            try await intake.keyUses.write(to: store)
            let used = try Self.keys(try await Self.settings(intake))
            #expect(
                Set(used.filter { $0.value["last_used_at"] != nil }.keys) == ["only-operate", "only-read"], "\(used)")
            let fingerprint = try #require(used["only-read"]?["fingerprint"] as? String)
            let key = ServerKeyUseStore.Key(app: TestIntake.app, fingerprint: fingerprint)
            let later = Date(timeIntervalSince1970: 4_000_000_000)
            try await store.write([key: later])
            try await store.write([key: Date(timeIntervalSince1970: 0)])
            #expect(try await store.uses(app: TestIntake.app)[fingerprint] == later)
        }
    }

    @Test("uses that could not be written are written the next time")
    func unwritten() async throws {
        try await ListRows.with { intake, rows in
            let store = ServerKeyUseStore(pool: rows.pool)
            _ = try await Self.settings(intake)
            try await rows.run("ALTER TABLE server_key_uses RENAME TO away")
            await #expect(throws: (any Error).self) { try await intake.keyUses.write(to: store) }
            try await rows.run("ALTER TABLE away RENAME TO server_key_uses")
            try await intake.keyUses.write(to: store)
            #expect(try await WalletRows(pool: rows.pool).count("server_key_uses") == 1)
        }
    }

    @Test("the doctor's findings are those of its last run; they are for who may operate")
    func doctor() async throws {
        try await ListRows.with { intake, rows in
            #expect(try await Self.settings(intake).fields["doctor"] == nil)
            let store = DoctorReportStore(pool: rows.pool)
            try await store.write([DoctorRemark(level: "good", subject: "PostgreSQL", detail: "answers", remedy: nil)])
            try await store.write([
                DoctorRemark(level: "wrong", subject: "topics", detail: "one is missing", remedy: "countersign topics")
            ])
            let doctor = try #require(try await Self.settings(intake).fields["doctor"] as? [String: Any])
            let findings = try #require(doctor["findings"] as? [[String: String]])
            #expect(
                findings == [
                    ["level": "wrong", "subject": "topics", "detail": "one is missing", "remedy": "countersign topics"]
                ])
            #expect(doctor["looked_at"] is String)
            #expect(try await intake.list("/v1/settings").slug == "scope-missing")
        }
    }
}
