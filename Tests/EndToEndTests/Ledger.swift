import Foundation
import Messages
import Postgres
import ProcessTesting
import Testing

/// The promises, asked of the database and of the webhooks' receiver.
struct Ledger {
    private let database: Database
    private let stack: Stack

    init(_ database: Database, _ stack: Stack) {
        self.database = database
        self.stack = stack
    }

    /// Every purchase of a load has one order, one grant of 100 gems to its account, and at least one webhook.
    func expectExactlyOnce(_ report: Load.Report) async throws {
        let ids = report.purchases.map(\.transactionId)
        #expect(Set(ids).count == ids.count)
        let right = try await database.wait(
            for: Int64(ids.count), within: .seconds(120),
            """
            SELECT count(*) AS n FROM unnest($1::text[], $2::text[]) AS sold (transaction_id, account)
            JOIN orders o ON o.transaction_id = sold.transaction_id AND o.account = sold.account
                AND o.environment = 'production' AND o.state = 'granted'
            """, [.textArray(ids), .textArray(report.purchases.map(\.account))])
        #expect(right == Int64(ids.count), "orders granted to the account that bought")
        let entries = try await database.rows(
            """
            SELECT count(*) AS entries, count(DISTINCT l.transaction_id) AS orders, coalesce(sum(l.amount), 0)::int8 AS gems
            FROM ledger_entries l WHERE l.transaction_id = ANY($1)
            """, [.textArray(ids)])
        let totals = try #require(entries.first)
        #expect(try totals.decode("entries", as: Int64.self) == Int64(ids.count))
        #expect(try totals.decode("orders", as: Int64.self) == Int64(ids.count))
        #expect(try totals.decode("gems", as: Int64.self) == Int64(ids.count) * 100)
        try await expectWebhooks(ids)
        try await expectCleanAudit()
    }

    /// The receiver has each purchase's webhook, however often, always under the same event id.
    private func expectWebhooks(_ ids: [String]) async throws {
        let undelivered = try await database.wait(
            for: 0, within: .seconds(180),
            """
            SELECT count(*) AS n FROM orders o WHERE o.transaction_id = ANY($1) AND NOT EXISTS (
                SELECT FROM events e JOIN webhook_deliveries d ON d.event_id = e.id AND d.state = 'delivered'
                WHERE e.environment = o.environment AND e.transaction_id = o.transaction_id
                    AND e.type = 'iap.transaction.fulfilled')
            """, [.textArray(ids)])
        #expect(undelivered == 0, "purchases without a delivered webhook")
        let wanted = Set(ids)
        var eventIds: [String: Set<String>] = [:]
        let file = URL(filePath: try stack.setting("COUNTERSIGN_WEBHOOK_RECEIVER_OUTPUT"))
        for line in String(decoding: try Data(contentsOf: file), as: UTF8.self).split(separator: "\n") {
            let webhook = try JSONDecoder().decode(Webhook.self, from: Data(line.utf8))
            guard let transaction = webhook.transactionId, wanted.contains(transaction) else { continue }
            guard webhook.type == "iap.transaction.fulfilled" else { continue }
            eventIds[transaction, default: []].insert(webhook.eventId)
        }
        #expect(eventIds.count == ids.count, "purchases that the receiver heard of")
        #expect(eventIds.values.allSatisfy { $0.count == 1 }, "one event id for each purchase")
    }

    private struct Webhook: Decodable {
        let eventId: String
        let type: String
        let transactionId: String?

        enum CodingKeys: String, CodingKey {
            case type
            case eventId = "event_id"
            case transactionId = "transaction_id"
        }
    }

    /// Every submission of this time has its outcome.
    ///
    /// The database is of all suites, and some of theirs wait for an hour: what Apple signed and nobody could read.
    func expectNothingDue(since began: Date) async throws {
        let due = "FROM submissions WHERE due_at IS NOT NULL AND received_at >= $1"
        let count = try await database.wait(
            for: 0, within: .seconds(60), "SELECT count(*) AS n \(due)", [.timestamptz(began)])
        let rows = try await database.rows(
            "SELECT concat_ws(' ', kind, reason, attempts, due_at - now()) AS row \(due) LIMIT 20",
            [.timestamptz(began)]
        ).map { try $0.decode("row", as: String.self) }
        #expect(count == 0, "\(rows)")
    }

    /// `countersign books check` finds that balances equal entries, and orders their grants.
    func expectCleanAudit() async throws {
        let audit = try await stack.built("countersign", ["books", "check"]).run()
        #expect(audit.status == 0, "\(audit.output)")
    }
}
