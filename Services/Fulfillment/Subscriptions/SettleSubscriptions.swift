import Foundation
import Persistence
import Postgres
import PurchaseModel

/// Works out anew where subscriptions stand, after their orders, owners or renewal statements changed.
struct SettleSubscriptions: Sendable {
    /// What time it is.
    var now: @Sendable () -> Date = { Date() }

    /// Writes.
    ///
    /// - Parameters:
    ///   - lineages: those of which an order or the owner changed in this transaction, with what led to it; of any type.
    ///   - renewals: what Apple signed about coming renewals, of any age.
    /// - Returns: what is to be told.
    /// - Throws: `PostgresError`.
    func settle(
        _ lineages: [LineageKey: String], renewals: [(statement: RenewalStatement, correlationId: String)],
        on connection: PostgresConnection
    ) async throws -> [EventDraft] {
        []
    }
}
