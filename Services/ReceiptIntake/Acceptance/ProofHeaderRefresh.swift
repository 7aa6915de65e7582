import Logging
import Persistence
import Postgres
import ServiceRuntime

/// Keeps the headers of verified proofs once, and learns those that other processes have kept.
enum ProofHeaderRefresh {
    /// How often; until then a new chain of Apple's is written with every proof.
    static let interval = Duration.seconds(30)

    /// - Parameter learn: is given all that are known, each time.
    static func task(
        _ headers: ProofHeaders, pool: PostgresPool, logger: Logger,
        learn: @escaping @Sendable ([[UInt8]]) async -> Void
    ) -> PeriodicTask {
        PeriodicTask("proof-headers", schedule: .init(every: interval), logger: logger) {
            try await headers.refresh(from: pool)
            await learn(headers.known)
        }
    }
}
