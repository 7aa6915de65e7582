import Postgres

/// Steps that need a lock which purchases wait for: tried for a moment, again and again, so that nobody stands behind one
/// that waits.
enum LockWait {
    /// How long a lock is waited for, in PostgreSQL's words.
    static let patience = "100ms"
    /// How long others go first.
    static let pause = Duration.milliseconds(400)

    /// `lock_not_available`.
    static let sqlState = "55P03"

    /// Does a step; where a lock was not to be had, undoes what it did, waits, and does it again.
    ///
    /// There is no end to it: whoever holds the lock, such as a dump, is gone some time.
    ///
    /// - Throws: what the step throws but for that, or `CancellationError`.
    static func retrying(
        _ step: () async throws -> Void, undo: () async throws -> Void = {}
    ) async throws {
        while true {
            do {
                return try await step()
            } catch let error as PostgresError where error.sqlState == sqlState {
                try await undo()
                try await Task.sleep(for: pause)
            }
        }
    }
}
