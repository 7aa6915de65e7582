import Logging
import Persistence
package import Postgres
import ServiceLifecycle
package import ServiceRuntime

/// Keeps a process from working on a schema that it does not work with.
///
/// It stands in front of everything that uses the database. A schema that is too old, or too new for this program, ends the process with a
/// sentence that says what to do; a database that does not answer is waited for, and the process is not ready meanwhile.
package struct DatabaseGuard: Service {
    private let pool: PostgresPool
    private let health: HealthCheck
    private let logger: Logger
    /// Seconds between looks at a database that does not answer.
    private static let retryDelay = Duration.seconds(1)

    /// Guards the database of a pool, and makes its answer a condition of readiness.
    package init(pool: PostgresPool, context: ServiceContext) {
        self.pool = pool
        logger = context.logger
        health = context.health.register("schema")
        context.health.registerProbe("database", timeout: .seconds(2)) {
            _ = try await pool.query("SELECT 1")
        }
        context.metrics.onScrape {
            let statistics = pool.statistics
            return [
                GaugeSample(
                    "countersign_database_connections", labels: [("state", "leased")], Double(statistics.leased)),
                GaugeSample("countersign_database_connections", labels: [("state", "idle")], Double(statistics.idle)),
                GaugeSample("countersign_database_waiters", Double(statistics.waiting)),
            ]
        }
    }

    /// Checks the schema, then waits for graceful shutdown.
    ///
    /// - Throws: `SchemaError`, for a schema that this program does not work with.
    package func run() async throws {
        try await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                do {
                    let schema = try await Migrator(pool: pool).requireUsableSchema()
                    health.set(ready: true, detail: "version \(schema.version)")
                    break
                } catch let error as PostgresError where error.isRetriable {
                    health.set(ready: false, detail: "the database does not answer")
                    logger.warning("the database does not answer", metadata: ["error": "\(error)"])
                    try? await Task.sleep(for: Self.retryDelay)
                }
            }
        }
        try? await gracefulShutdown()
    }
}
