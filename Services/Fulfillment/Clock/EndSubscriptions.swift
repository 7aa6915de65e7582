import Foundation
import Logging
import Metrics
import Persistence
import Postgres
import PurchaseModel
import ServiceLifecycle
import ServiceRuntime

/// The use case: what the clock alone changes about subscriptions is written and told.
///
/// Access does not wait for it: an entitlement has its end. Any number of processes may run it at once, since each
/// claims its rows; a row is worked out anew from what is in the database, so that none ends what was renewed meanwhile.
struct EndSubscriptions: Sendable {
    let pool: PostgresPool
    /// Works out where a subscription stands, with the same clock.
    let subscriptions: UpdateSubscriptions
    let announce: AnnounceOutcomes
    let eventLease: Duration

    /// Subscriptions of one commit; a look goes on until fewer are due.
    static let batchMaximum = 200

    /// What looks again and again.
    func task(every interval: Duration, logger: Logger) -> PeriodicTask {
        PeriodicTask("subscription-ends", schedule: .init(every: interval), logger: logger) { try await look() }
    }

    /// Ends all that is due.
    ///
    /// - Throws: `PostgresError`; then the rest stays due.
    func look() async throws {
        while try await end(limit: Self.batchMaximum) == Self.batchMaximum, !Task.isShuttingDownGracefully {}
    }

    /// Ends what is due.
    ///
    /// - Returns: how many were due, `limit` at the most.
    /// - Throws: `PostgresError`; then they stay due.
    func end(limit: Int) async throws -> Int {
        let ended = try await pool.withTransaction { connection in
            let due = try await SubscriptionStore.claimDue(
                at: subscriptions.now?(), limit: limit, on: connection)
            guard !due.isEmpty else { return Ended() }
            let derived = subscriptions.derive(
                try await SubscriptionStore.bases(of: due.map(\.lineage), on: connection))
            let steps = SubscriptionStep.all(from: due, to: derived)
            try await SubscriptionStore.write(derived, on: connection)
            let events = try await EventStore.write(
                try await subscriptions.drafts(of: steps, on: connection), lease: eventLease, on: connection)
            return Ended(steps: steps, events: events)
        }
        for step in ended.steps {
            Counter(
                label: "countersign_subscriptions_ended_total",
                dimensions: [("state", step.after.standing.state.rawValue)]
            ).increment()
        }
        await announce.announce(events: ended.events, settlements: [])
        return ended.steps.count
    }

    private struct Ended: Sendable {
        var steps: [SubscriptionStep] = []
        var events: [EventStore.StoredEvent] = []
    }
}
