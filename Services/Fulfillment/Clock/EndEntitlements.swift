import Foundation
import Logging
import Messages
import Metrics
import Persistence
import Postgres
import PurchaseModel
import ServiceLifecycle
import ServiceRuntime

/// The use case: entitlements whose end the studio keeps, such as those of a non-renewing subscription, have ended.
///
/// It tells of each order once for each account that had it, unless another order still gives the same. Of a
/// subscription's current period the subscription's own events tell (`EndSubscriptions`); an earlier one ends here,
/// where the next was another product and gives something else.
struct EndEntitlements: Sendable {
    let pool: PostgresPool
    let announce: AnnounceOutcomes
    let eventLease: Duration
    /// What time it is; nil for the database's clock, by which entitlements are read, too.
    var now: (@Sendable () -> Date)?

    /// Orders of one commit; a look goes on until fewer have ended.
    static let batchMaximum = 200

    /// What looks again and again.
    func task(every interval: Duration, logger: Logger) -> PeriodicTask {
        PeriodicTask("entitlement-ends", schedule: .init(every: interval), logger: logger) { try await look() }
    }

    /// Tells of all that has ended.
    ///
    /// - Throws: `PostgresError`; then the rest is told at the next look.
    func look() async throws {
        while try await end(limit: Self.batchMaximum) == Self.batchMaximum, !Task.isShuttingDownGracefully {}
    }

    /// Tells of what has ended.
    ///
    /// - Returns: how many orders had ended, `limit` at the most.
    /// - Throws: `PostgresError`; then they are told at the next look.
    func end(limit: Int) async throws -> Int {
        let (count, events) = try await pool.withTransaction { connection in
            let ended = try await EntitlementStore.takeEnded(at: now?(), limit: limit, on: connection)
            let drafts = ended.filter { !$0.isCurrentPeriod && !$0.entitlements.isEmpty }.map {
                EventDraft($0, correlationId: $0.correlationId)
            }
            return (ended.count, try await EventStore.write(drafts, lease: eventLease, on: connection))
        }
        Counter(label: "countersign_entitlements_ended_total").increment(by: events.count)
        await announce.announce(events: events, settlements: [])
        return count
    }
}

extension EventDraft {
    /// That what an order, or a person, gave to an account has ended.
    init(_ ended: EntitlementStore.Ended, correlationId: String) {
        self.init(
            type: PurchaseEvent.entitlementExpired, environment: ended.key.environment, app: ended.app,
            account: ended.account, correlationId: correlationId,
            payload: PurchaseEvent.Payload(
                transaction: ended.transaction, state: ended.transaction.map { _ in .granted },
                entitlements: ended.entitlements))
    }
}
