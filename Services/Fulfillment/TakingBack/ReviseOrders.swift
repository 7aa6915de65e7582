import Messages
import Persistence
import Postgres
import PurchaseModel

/// Revises orders that are somebody's by what Apple signed later: refunds, their reversals, other ends of a period.
struct ReviseOrders: Sendable {
    /// What became of the orders.
    struct Revised: Sendable {
        /// How each order that was changed stands now.
        var standings: [OrderKey: OrderStore.Standing] = [:]
        /// The lineages that one of them belongs to.
        var lineages: Set<LineageKey> = []
        /// To be told.
        var drafts: [EventDraft] = []
    }

    /// Writes.
    ///
    /// - Parameters:
    ///   - known: what is said of orders that are there already; those that are parked without an account are left alone.
    ///   - decide: what would become of a transaction if it were new; for orders that were taken back before they were
    ///     granted.
    /// - Throws: `PostgresError`.
    func revise(
        _ known: [StatedTransaction], by catalogue: Catalogue,
        decide: (StatedTransaction, PurchasedTransaction) -> OrderDecision, on connection: PostgresConnection
    ) async throws -> Revised {
        Revised()
    }
}
