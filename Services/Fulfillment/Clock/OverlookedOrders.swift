import Logging
import Persistence
import Postgres
import PurchaseModel
import ServiceRuntime

/// Looks through all parked orders, slowly and for ever, for what should have been released and was not.
///
/// Every cause of a release is told when it happens. This finds what a process has parked that had an older catalogue than
/// all others and is gone for good, and what a person has changed by hand.
actor OverlookedOrders {
    /// Orders of each kind that are read in one look.
    static let ordersPerLook = 1_000
    /// Between looks: a million parked orders are looked through in 17 hours.
    static let interval = Duration.seconds(60)

    private let pool: PostgresPool
    private let catalogues: CurrentCatalogue
    private let doubtful: DoubtfulProducts
    private var token: OrderStore.TokenPlace?
    private var doubt: OrderStore.DoubtPlace?

    init(pool: PostgresPool, catalogues: CurrentCatalogue, doubtful: DoubtfulProducts) {
        self.pool = pool
        self.catalogues = catalogues
        self.doubtful = doubtful
    }

    /// What looks again and again.
    nonisolated func task(logger: Logger) -> PeriodicTask {
        PeriodicTask("overlooked-orders", schedule: .init(every: OverlookedOrders.interval), logger: logger) {
            try await self.look(limit: OverlookedOrders.ordersPerLook)
        }
    }

    /// Looks at the next orders of each kind, and has those released that it finds.
    ///
    /// - Throws: `PostgresError`; the next look looks there again.
    func look(limit: Int) async throws {
        let catalogue = try await catalogues.current()
        let (from, fromDoubt) = (token, doubt)
        let (next, products, nextDoubt) = try await pool.withTransaction { connection in
            let registered = try await OrderStore.registeredTokens(after: from, limit: limit, on: connection)
            try await ReleaseRequestStore.add(registered.tokens, on: connection)
            let ended = try await OrderStore.doubtsEnded(
                by: catalogue, after: fromDoubt, limit: limit, on: connection)
            return (registered.last, ended.products, ended.last)
        }
        doubtful.add(products)
        (token, doubt) = (next, nextDoubt)
    }
}
