import Postgres
import PurchaseModel

/// The step of migration 6: orders that are one purchase become one.
///
/// Older versions made an order of each transaction id. What is found here to be one purchase is granted once; what was
/// granted twice is noted in `double_grants`, and corrected after the migration (`DoubleGrantStore`).
///
/// All of its statements are written out against the schema as migration 6 leaves it: a migration that was released does
/// the same for ever, whatever the stores become. Nothing is written where no two orders share a key.
enum MergeDoubleOrders {
    /// Lineages that are read and written at once.
    private static let lineagesOfBatch = 500

    /// - Throws: `PostgresError`, also for an order that cannot be read: then the migration does not happen.
    static func run(on connection: PostgresConnection) async throws {
        try await DoubleOrder.find(on: connection)
        var orders = try await DoubleOrder.next(after: nil, limit: lineagesOfBatch, on: connection)
        while let last = orders.last {
            try await merge(orders, on: connection)
            orders = try await DoubleOrder.next(after: last, limit: lineagesOfBatch, on: connection)
        }
        try await connection.executeScript("DROP TABLE orders_to_merge")
        try await MergedOrders.noteSharedLineItems(on: connection)
    }

    private static func merge(_ orders: [DoubleOrder], on connection: PostgresConnection) async throws {
        let plans = Dictionary(grouping: orders) {
            "\($0.key.environment.rawValue) \($0.app) \($0.originalTransactionId)"
        }
        .sorted { $0.key < $1.key }.map { MergePlan($0.value) }
        let purchases = plans.flatMap(\.purchases)
        let merged = purchases.filter { !$0.others.isEmpty }.map(MergedOrder.init)
        try await MergedOrders.note(plans.flatMap(\.conflicts), on: connection)
        try await MergedOrders.writeKeys(purchases.filter { $0.others.isEmpty }, on: connection)
        guard !merged.isEmpty else { return }
        // The lines are summed up before they move, and rows are kept before they change.
        try await MergedGrants.noteDoubles(merged, on: connection)
        try await MergedOrders.write(merged, on: connection)
        try await MergedGrants.move(merged, on: connection)
        try await MergedOrders.removeOthers(merged, on: connection)
        try await MergedEvents.write(
            of: merged, revoked: try await MergedGrants.revoke(merged, on: connection), on: connection)
    }
}

/// An order that took in others of the same purchase, as it stands from now on.
struct MergedOrder: Sendable {
    let purchase: MergePlan.MergedPurchase
    /// What Apple signed of all of its ids together.
    let transaction: Transaction
    let state: OrderState
    let reason: ReasonCode?
    let account: Account?

    init(_ purchase: MergePlan.MergedPurchase) {
        self.purchase = purchase
        transaction = purchase.transaction
        let first = purchase.first
        if transaction.revocationDate != nil || first.state == .revoked {
            state = .revoked
            reason = .revokedByApple
            account = purchase.orders.lazy.compactMap(\.account).first
        } else if first.grantedAt != nil {
            state = .granted
            reason = nil
            account = first.account
        } else {
            // The doubt that knows most of whose it is.
            let parked = purchase.orders.filter { $0.state == .parked }
            let doubt =
                parked.first { $0.account != nil } ?? parked.first { $0.reason == .accountTokenUnknown } ?? first
            state = .parked
            reason = doubt.reason
            account = doubt.account
        }
    }

    /// Its own key.
    var key: OrderKey { purchase.first.key }

    /// Whether one of the orders was granted, and all are revoked now.
    var isRevokedByMerging: Bool { state == .revoked && purchase.orders.contains { $0.state == .granted } }

    /// Whether a submission may wait for one of the orders that waits for nothing any more.
    var endsWaiting: Bool { state != .parked && purchase.orders.contains { $0.state == .parked } }

    /// Follows what the merge led to.
    var correlationId: String { "merge_\(key.transactionId)" }
}

extension [MergedOrder] {
    /// `$1` to `$3`: environment, transaction id and the merged order's own id, of all ids.
    var idColumns: [PostgresValue] { columns { [DoubleOrder]($0.purchase.orders) } }

    /// The same of the ids whose orders are no more.
    var otherIdColumns: [PostgresValue] { columns { [DoubleOrder]($0.purchase.others) } }

    /// `$1` and `$2`: the merged orders' own keys.
    var keyColumns: [PostgresValue] {
        [.textArray(map(\.key.environment.rawValue)), .textArray(map(\.key.transactionId))]
    }

    private func columns(_ orders: (MergedOrder) -> [DoubleOrder]) -> [PostgresValue] {
        let rows = flatMap { merged in orders(merged).map { (key: $0.key, order: merged.key) } }
        return [
            .textArray(rows.map(\.key.environment.rawValue)), .textArray(rows.map(\.key.transactionId)),
            .textArray(rows.map(\.order.transactionId)),
        ]
    }

    /// What ``idColumns`` are in a statement.
    static var ids: String {
        "unnest($1::text[], $2::text[], $3::text[]) AS merged (environment, transaction_id, order_transaction_id)"
    }
}
