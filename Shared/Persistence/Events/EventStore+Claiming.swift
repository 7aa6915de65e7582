import Postgres

/// How events leave the outbox; each is a part of the notification service's statements.
///
/// An event that is posted before its deliveries have rows is claimed meanwhile, by one process and once in its life
/// (decision 0037). ARRAY: the index is used whatever the planner believes of a table that is empty most of the time.
extension EventStore {
    /// Whether a row of the outbox is claimed now.
    static let isClaimed: SQL = "coalesce(claimed_until > now(), false)"

    /// Locks the rows of these events, as `queued (event_id, is_claimed)`.
    static func lockQueued(_ eventIds: SQL) -> SQL {
        """
        SELECT event_id, \(isClaimed) AS is_claimed FROM event_outbox WHERE event_id = ANY(\(eventIds))
        ORDER BY event_id FOR UPDATE
        """
    }

    /// Takes these events out of the outbox: the notification service has them.
    ///
    /// - Parameter eventIds: of rows that were locked in their order, or that nobody else has.
    static func remove(_ eventIds: SQL) -> SQL {
        "DELETE FROM event_outbox WHERE event_id = ANY(ARRAY(\(eventIds)))"
    }

    /// Claims those of these events that nobody has claimed before; what another process holds is not waited for.
    ///
    /// It is due at the end of the claim, unless it is before that: then whoever finds it due puts it off (``claimDue(limit:lease:leaseMaximum:)``).
    /// As a rule no index changes by that.
    static func claim(_ eventIds: SQL, lease: Duration) -> SQL {
        """
        UPDATE event_outbox SET claimed_until = now() + \(lease), due_at = least(due_at, now() + \(lease))
        WHERE event_id = ANY(ARRAY(
            SELECT event_id FROM event_outbox WHERE event_id = ANY(ARRAY(\(eventIds))) AND claimed_until IS NULL
            ORDER BY event_id FOR UPDATE SKIP LOCKED))
        RETURNING event_id, now() AS claimed_at
        """
    }
}
