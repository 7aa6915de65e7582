import Persistence
import Postgres
import PurchaseModel

/// Freezes what a child's account may use when a guardian withdrew consent.
struct SettleConsents: Sendable {
    /// Writes.
    ///
    /// - Returns: what is to be told.
    /// - Throws: `PostgresError`.
    func settle(
        _ consents: [(consent: RescindedConsent, correlationId: String)], on connection: PostgresConnection
    ) async throws -> [EventDraft] {
        []
    }
}
