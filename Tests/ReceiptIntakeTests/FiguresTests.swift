import Foundation
import HTTPTypes
import HummingbirdTesting
import Persistence
import Postgres
import Testing

@testable import ReceiptIntake

@Suite(
    "Figures of subscriptions, and the catalogue",
    .enabled(if: TestDatabase.serverURL != nil, TestDatabase.skipComment), .timeLimit(.minutes(2)))
struct FiguresTests {
    private static let days = "&from=2026-03-01&to=2026-06-30"

    /// A period of a subscription, as an order.
    private static func period(
        _ id: String, of lineage: String, _ start: String, _ end: String, product: String = "pass",
        app: String = ListRows.app, environment: String = "production", revoked: String? = nil,
        ownership: String = "PURCHASED"
    ) -> String {
        """
        INSERT INTO orders (environment, transaction_id, state, reason, account, app, product_id, product_type, quantity,
            original_transaction_id, purchase_date, expires_date, signed_date, revocation_date, ownership, submission_id,
            correlation_id, granted_at, transaction)
        VALUES ('\(environment)', '\(id)', '\(revoked == nil ? "granted" : "revoked")',
            \(revoked == nil ? "NULL" : "'revoked_by_apple'"), 'p', '\(app)', '\(product)', 'auto_renewable', 1, '\(lineage)',
            '\(start)Z', '\(end)Z', '\(start)Z', \(revoked.map { "'\($0)Z'" } ?? "NULL"), '\(ownership)', 's', 'c', now(), '{}');
        """
    }

    private static func standing(
        _ lineage: String, _ state: String, _ period: String, until end: String, product: String = "pass",
        app: String = ListRows.app, environment: String = "production", ownership: String = "PURCHASED"
    ) -> String {
        """
        INSERT INTO subscriptions (environment, original_transaction_id, app, account, state, product_id, transaction_id,
            expires_date, access_until, standing)
        VALUES ('\(environment)', '\(lineage)', '\(app)', 'p', '\(state)', '\(product)', '\(period)', '\(end)Z', '\(end)Z',
            '{"ownership": "\(ownership)"}');
        """
    }

    /// Seven subscriptions of which each figure was counted by hand.
    private static let rows = [
        // Renewed twice, the second time as another product; it goes on.
        period("a1", of: "a1", "2026-03-10 10:00", "2026-04-10 10:00"),
        period("a2", of: "a1", "2026-04-10 10:00", "2026-05-10 10:00"),
        period("a3", of: "a1", "2026-05-02 10:00", "2026-06-02 10:00", product: "gold"),
        standing("a1", "active", "a3", until: "2099-06-02 10:00", product: "gold"),
        // Over, and back after a gap; then over again, one minute before a day ends.
        period("b1", of: "b1", "2026-03-10 10:00", "2026-04-10 10:00"),
        period("b2", of: "b1", "2026-05-01 00:00", "2026-05-31 23:59"),
        standing("b1", "expired", "b2", until: "2026-05-31 23:59"),
        // Taken back in the middle of its period.
        period("c1", of: "c1", "2026-04-01 10:00", "2026-05-01 10:00", revoked: "2026-04-15 10:00"),
        standing("c1", "revoked", "c1", until: "2026-05-01 10:00"),
        // Not paid for, with grace that goes on.
        period("d1", of: "d1", "2026-04-01 10:00", "2026-05-01 10:00"),
        standing("d1", "grace_period", "d1", until: "2099-05-17 10:00"),
        // A family member's copy, the sandbox's, and another app's.
        period("e1", of: "e1", "2026-04-01 10:00", "2026-05-01 10:00", ownership: "FAMILY_SHARED"),
        standing("e1", "expired", "e1", until: "2026-05-01 10:00", ownership: "FAMILY_SHARED"),
        period("a1", of: "a1", "2026-04-02 10:00", "2026-05-02 10:00", environment: "sandbox"),
        standing("a1", "expired", "a1", until: "2026-05-02 10:00", environment: "sandbox"),
        period("g1", of: "g1", "2026-04-01 10:00", "2026-05-01 10:00", app: TestIntake.otherApp),
        standing("g1", "active", "g1", until: "2099-05-01 10:00", app: TestIntake.otherApp),
    ].joined(separator: "\n")

    private func numbers(_ row: [String: Any]) -> [Int] {
        ["started", "renewed", "returned", "ended"].map { row[$0] as? Int ?? -1 }
    }

    @Test("what began, went on, came back and ended is counted on Apple's days, by day, month and product")
    func changes() async throws {
        try await ListRows.with { intake, rows in
            try await rows.run(Self.rows)
            func figures(_ query: String) async throws -> [String: [Int]] {
                let answer = try await intake.list("/v1/subscription-figures", query)
                #expect(answer.status == 200, "\(answer.text)")
                let found = try #require(answer.fields["rows"] as? [[String: Any]])
                let totals = try #require(answer.fields["totals"] as? [String: Any])
                let keyed = found.map { row in
                    ((row["day"] ?? row["month"] ?? row["product_id"]) as? String ?? "", numbers(row))
                }
                return Dictionary(keyed + [("all", numbers(totals))]) { first, _ in first }
            }
            #expect(
                try await figures(Self.days) == [
                    "2026-03-10": [2, 0, 0, 0], "2026-04-01": [2, 0, 0, 0], "2026-04-10": [0, 1, 0, 1],
                    "2026-04-15": [0, 0, 0, 1], "2026-05-01": [0, 0, 1, 0], "2026-05-02": [0, 1, 0, 0],
                    "2026-05-31": [0, 0, 0, 1], "all": [4, 2, 1, 3],
                ])
            #expect(
                try await figures(Self.days + "&by=month") == [
                    "2026-03": [2, 0, 0, 0], "2026-04": [2, 1, 0, 2], "2026-05": [0, 1, 1, 1], "all": [4, 2, 1, 3],
                ])
            #expect(
                try await figures(Self.days + "&by=product") == [
                    "pass": [4, 1, 1, 3], "gold": [0, 1, 0, 0], "all": [4, 2, 1, 3],
                ])
            // A part of the days: what happened before and after is not counted, and is still known.
            #expect(
                try await figures("&from=2026-04-02&to=2026-04-30") == [
                    "2026-04-10": [0, 1, 0, 1], "2026-04-15": [0, 0, 0, 1], "all": [0, 1, 0, 2],
                ])
            #expect(
                try await figures(Self.days + "&environment=sandbox") == [
                    "2026-04-02": [1, 0, 0, 0], "2026-05-02": [0, 0, 0, 1], "all": [1, 0, 0, 1],
                ])
        }
    }

    @Test("as many have access as began and came back less those that ended")
    func balance() async throws {
        try await ListRows.with { intake, rows in
            try await rows.run(Self.rows)
            let answer = try await intake.list("/v1/subscription-figures", Self.days).fields
            let states = try #require(answer["states"] as? [[String: Any]])
            let told = states.map { "\($0["product_id"] ?? "") \($0["state"] ?? "") \($0["count"] ?? "")" }
            #expect(told == ["gold active 1", "pass expired 1", "pass grace_period 1", "pass revoked 1"])
            let all = numbers(try #require(answer["totals"] as? [String: Any]))
            let open = states.filter { ["active", "grace_period"].contains($0["state"] as? String ?? "") }
            #expect(open.reduce(0) { $0 + ($1["count"] as? Int ?? 0) } == all[0] + all[2] - all[3])
        }
    }

    private static let content = """
        apps:
          \(ListRows.app):
            - { id: gems.100, type: consumable, grants: { gem: 100 }, prices: { USD: 990 } }
            - { id: pass, type: auto_renewable, entitlements: [vip] }
          com.example.elsewhere:
            - { id: secret.of.another, type: consumable, grants: { gem: 1 } }
        """

    @Test("the catalogue in use is that of the newest order, with what is sold of this app alone")
    func catalogue() async throws {
        try await ListRows.with { intake, rows in
            let none = try await intake.list("/v1/catalogue").fields
            #expect(none["version_in_use"] == nil && (none["products"] as? [Any])?.isEmpty == true)
            let store = CatalogueStore(pool: rows.pool)
            let (old, new) = (try await store.version(of: "apps: {}"), try await store.version(of: Self.content))
            _ = try await store.version(of: "apps: {other: []}")
            for (id, version, seconds) in [("1", old, 300), ("2", new, 200), ("3", new, 100)] {
                try await rows.order(id, ago: seconds)
                try await rows.run("UPDATE orders SET catalogue_version = \(version) WHERE transaction_id = '\(id)'")
            }
            let answer = try await intake.list("/v1/catalogue")
            #expect(answer.status == 200 && !answer.text.contains("secret.of.another"), "\(answer.text)")
            #expect(answer.fields["version_in_use"] as? Int64 == new)
            let versions = try #require(answer.fields["versions"] as? [[String: Any]])
            #expect(versions.compactMap { $0["in_use"] as? Bool } == [false, true, false])
            #expect(versions.compactMap { $0["orders"] as? Int } == [0, 2, 1])
            let products = try #require(answer.fields["products"] as? [[String: Any]])
            #expect(products.compactMap { $0["product_id"] as? String } == ["gems.100", "pass"])
            let sold = try #require(products.first?["sold"] as? [[String: Any]])
            #expect(sold.map { [$0["version"] as? Int64, $0["orders"] as? Int64] } == [[new, 2], [old, 1]])
            // The sandbox has no order: the newest version is what will be used.
            let sandbox = try await intake.list("/v1/catalogue", "&environment=sandbox").fields
            #expect(sandbox["version_in_use"] as? Int64 == new + 1)
        }
    }
}
