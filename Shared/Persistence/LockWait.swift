import Postgres

/// Steps that need a lock which purchases wait for: tried for a moment, again and again, so that nobody stands behind one
/// that waits.
enum LockWait {
    /// What whoever started the step is told.
    typealias Report = @Sendable (String) -> Void

    /// How long a lock is waited for, in PostgreSQL's words.
    static let patience = "100ms"
    /// How long others go first.
    static let pause = Duration.milliseconds(400)

    /// `lock_not_available`.
    static let sqlState = "55P03"

    /// Does a step; where a lock was not to be had, waits, and does it again.
    ///
    /// There is no end to it: whoever holds the lock, such as a dump, is gone some time.
    ///
    /// - Parameter report: is called once, at the first wait, with a sentence for whoever started it.
    /// - Throws: what the step throws but for that, or `CancellationError`.
    static func retrying(
        report: Report, _ step: () async throws -> Void
    ) async throws {
        var hasWaited = false
        while true {
            do {
                return try await step()
            } catch let error as PostgresError where error.sqlState == sqlState {
                if !hasWaited {
                    report("waits for somebody who holds a table: pg_stat_activity says who; services go on meanwhile")
                }
                hasWaited = true
                try await Task.sleep(for: pause)
            }
        }
    }
}
