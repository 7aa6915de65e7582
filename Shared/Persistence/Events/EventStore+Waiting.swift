import Postgres

/// Events that the notification service does not have, and so no endpoint a delivery of, by how long they wait for it.
///
/// One that is claimed does not count: it is being posted. A claim lasts a minute and is the only one of its event.
///
/// What counts is when an event came into the outbox: `due_at` is put off each time it is sent again, by whoever does that.
extension EventStore {
    /// How long an event may wait, and how many are counted.
    package enum WaitingLimit {
        /// How long where no setting says otherwise; taking an event over takes milliseconds.
        package static let ageDefault = Duration.seconds(300)
        /// Events that are counted at most; a count of as many means "at least".
        package static let countMaximum = 10_000
    }

    /// An event that was found to wait for too long just now; each is found once.
    package struct Alarm: Sendable, Hashable {
        /// The event's id.
        package let eventId: String
        /// Its type.
        package let type: String
        /// Seconds that it has waited.
        package let ageSeconds: Double
    }

    /// Events that wait for too long.
    package struct Waiting: Sendable, Hashable {
        /// At most ``WaitingLimit/countMaximum``.
        package let count: Int64
        /// Seconds that the oldest has waited; exact, however many there are, and 0 where none does.
        package let oldestSeconds: Double

        /// Makes a summary.
        package init(count: Int64, oldestSeconds: Double) {
            self.count = count
            self.oldestSeconds = oldestSeconds
        }
    }

    /// Marks events that have waited for longer than `age` and are not marked yet, those that wait for longest first.
    ///
    /// Any number of processes may do this at once: a row locked by another is passed over.
    ///
    /// - Parameter limit: the most to mark.
    /// - Throws: `PostgresError`.
    package func raiseAlarms(olderThan age: Duration, limit: Int) async throws -> [Alarm] {
        try await pool.query(
            """
            WITH marked AS (
                UPDATE event_outbox SET alarmed_at = now() WHERE event_id = ANY(ARRAY(
                    SELECT event_id FROM event_outbox
                    WHERE alarmed_at IS NULL AND queued_at <= now() - \(age) AND NOT \(Self.isClaimed)
                    ORDER BY queued_at LIMIT \(limit) FOR UPDATE SKIP LOCKED))
                RETURNING event_id, queued_at
            )
            SELECT marked.event_id, events.type, extract(epoch FROM now() - marked.queued_at)::float8 AS age_seconds
            FROM marked JOIN events ON events.id = marked.event_id ORDER BY marked.queued_at, marked.event_id
            """
        ).map(Alarm.init)
    }

    /// Events that have waited for longer than `age`, whether or not they are marked.
    ///
    /// - Throws: `PostgresError`.
    package func waiting(longerThan age: Duration) async throws -> Waiting {
        let result = try await pool.query(
            """
            SELECT least(count(*), \(WaitingLimit.countMaximum)) AS count,
                coalesce(extract(epoch FROM now() - min(queued_at)), 0)::float8 AS oldest_seconds
            FROM (
                (SELECT queued_at FROM event_outbox
                WHERE alarmed_at IS NOT NULL AND queued_at <= now() - \(age) AND NOT \(Self.isClaimed)
                ORDER BY queued_at LIMIT \(WaitingLimit.countMaximum))
                UNION ALL
                (SELECT queued_at FROM event_outbox
                WHERE alarmed_at IS NULL AND queued_at <= now() - \(age) AND NOT \(Self.isClaimed)
                ORDER BY queued_at LIMIT \(WaitingLimit.countMaximum))
            ) waiting
            """)
        return try result.map(Waiting.init).first ?? Waiting(count: 0, oldestSeconds: 0)
    }
}
