import Messages
import Persistence
import Postgres
import PurchaseModel

/// Freezes what a child's account may use when a guardian withdrew consent.
struct RescindConsents: Sendable {
    /// Writes; a consent that is known, or older than what is known, changes nothing.
    ///
    /// - Returns: what is to be told.
    /// - Throws: `PostgresError`.
    func rescind(
        _ consents: [(consent: RescindedConsent, correlationId: String)], on connection: PostgresConnection
    ) async throws -> [EventDraft] {
        guard !consents.isEmpty else { return [] }
        let frozen = try await ConsentStore.rescind(consents.map(\.consent), on: connection)
        return frozen.map { frozen in
            let cause = consents.first { entry in
                entry.consent.bundleId == frozen.customer.app
                    && entry.consent.appTransactionId == frozen.transaction.appTransactionId
            }
            return EventDraft(frozen, correlationId: cause?.correlationId ?? consents[0].correlationId)
        }
    }
}

extension EventDraft {
    /// That an order's entitlements were frozen.
    init(_ frozen: ConsentStore.Frozen, correlationId: String) {
        self.init(
            type: PurchaseEvent.consentRescinded, environment: frozen.customer.environment, app: frozen.customer.app,
            account: frozen.customer.account, correlationId: correlationId,
            payload: PurchaseEvent.Payload(
                transaction: frozen.transaction, state: frozen.state, entitlements: frozen.entitlements.sorted()))
    }
}
