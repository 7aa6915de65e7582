import Postgres

/// The list of Apple's notifications is as long as retention of notifications says.
extension AppleNotificationStore {
    /// The oldest notifications beyond an age, as SQL.
    static func ended(_ age: Duration, _ limit: Int) -> SQL {
        """
        SELECT app, notification_uuid FROM apple_notifications
        WHERE recorded_at < now() - \(age) ORDER BY recorded_at LIMIT \(limit)
        """
    }

    /// Removes those that were recorded longer ago than `age`, the oldest first, but for those that still go on to an older
    /// consumer.
    ///
    /// - Returns: how many; fewer than the limit where no more is to be removed.
    /// - Throws: `PostgresError`.
    package func remove(olderThan age: Duration, limit: Int) async throws -> Int {
        try await NotificationForwardStore(pool: pool).removeEnded(olderThan: age, limit: limit)
        let result = try await pool.query(
            """
            DELETE FROM apple_notifications n USING (\(Self.ended(age, limit))) old
            WHERE (n.app, n.notification_uuid) = (old.app, old.notification_uuid)
                AND NOT EXISTS (SELECT FROM notification_forwards f
                    WHERE (f.app, f.notification_uuid) = (n.app, n.notification_uuid))
            RETURNING 1 AS one
            """)
        return result.rows.count
    }
}

extension NotificationForwardStore {
    /// Removes what was delivered or given up of notifications that are older than `age`.
    ///
    /// - Throws: `PostgresError`.
    fileprivate func removeEnded(olderThan age: Duration, limit: Int) async throws {
        _ = try await pool.query(
            """
            DELETE FROM notification_forwards f USING (\(AppleNotificationStore.ended(age, limit))) old
            WHERE (f.app, f.notification_uuid) = (old.app, old.notification_uuid) AND f.state <> 'pending'
            """)
    }
}
