import Foundation
import Messages
import PersistenceTesting
import Postgres
import PurchaseModel
import Testing

@testable import Persistence

/// The app's own number of an order is told to the account that gave it, and to nobody else.
@Suite(.enabled(if: TestDatabase.url != nil, Bench.skipComment), .timeLimit(.minutes(1)))
struct EventReferenceTests {
    @Test func `it is in events of its account and of nobody's, and in none of another's`() async throws {
        try await TestDatabase.with { pool in
            let opening = try await IntentStore(pool: pool).open(
                UUID(), app: Bench.app, account: "anna", productId: "gems.100", reference: "order 10042", limit: 10)
            guard case .opened(let intent) = opening else {
                Issue.record("\(opening)")
                return
            }
            func draft(_ account: String?, _ token: UUID?) -> EventDraft {
                EventDraft(
                    type: "iap.transaction.fulfilled", environment: .production, app: Bench.app,
                    account: account.map { Account(stored: $0) }, correlationId: "req_1",
                    payload: .init(transaction: Bench.signed("1", token: token)))
            }
            let drafts = [
                draft("anna", intent.id), draft("ben", intent.id), draft(nil, intent.id), draft("anna", UUID()),
                draft("anna", nil),
            ]
            let events = try await pool.withTransaction {
                try await EventStore.write(drafts, lease: .seconds(600), on: $0)
            }
            let references = try events.map { event in
                let body = try JSONSerialization.jsonObject(with: Data(event.body.utf8)) as? [String: Any]
                return (body?["data"] as? [String: Any])?["reference"] as? String
            }
            #expect(references == ["order 10042", nil, "order 10042", nil, nil])
            #expect(!events[1].body.contains("10042"))
        }
    }
}
