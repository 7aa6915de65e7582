import EventProcessing
import Persistence
import Postgres
import PurchaseModel

/// The use case: a parked order is granted once the catalogue knows its product, or knows it better.
///
/// Each process makes a round of its own by each catalogue that it uses, from the one that it starts with on: through the
/// orders of the products of which the catalogue says something new, a bounded number at a time. There is no row that says
/// so in the database: who took it up might have another catalogue. A process that dies makes the round when it starts.
actor ReleaseByCatalogue {
    private let orders: ReleaseOrders
    /// Whose orders are still to be looked at in this round; the last one first.
    private var doubts: [OrderStore.Doubt] = []
    /// The order of the last doubt that was looked at; nil at its beginning.
    private var last: OrderKey?

    /// Commits of one look.
    static let commitsPerLook = 20

    init(orders: ReleaseOrders) {
        self.orders = orders
    }

    /// Goes on with the round, and begins one if the catalogue is another; not to be called again before it returns.
    ///
    /// - Parameter limit: the most orders to read at a time.
    /// - Throws: `PostgresError`; the next look goes on there.
    func look(limit: Int) async throws -> Redriver.Round {
        let catalogue = try await orders.catalogues.current()
        try await begin(catalogue)
        var count = 0
        for _ in 0..<ReleaseByCatalogue.commitsPerLook {
            guard let doubt = doubts.last else { break }
            guard let product = catalogue.product(doubt.product) else {
                next(nil)
                continue
            }
            let from = last
            let (released, end) = try await orders.pool.withTransaction { [orders] connection in
                let found = try await OrderStore.candidates(
                    in: doubt, endedBy: product, after: from, limit: limit, on: connection)
                let released = try await orders.release(found.candidates, by: catalogue, on: connection)
                return (released, found.last)
            }
            await orders.announce(released)
            count += released.count
            // What somebody else holds locked is looked at again, in the next look.
            guard released.blocked.isEmpty else { return Redriver.Round(count: count, isMoreDue: false) }
            next(end)
        }
        return Redriver.Round(count: count, isMoreDue: !doubts.isEmpty)
    }

    private func next(_ end: OrderKey?) {
        last = end
        if end == nil { doubts.removeLast() }
    }

    private func begin(_ catalogue: Catalogue) async throws {
        let products = orders.doubtful.begin(catalogue)
        guard !products.isEmpty else { return }
        do {
            let found = try await orders.pool.withConnection { connection in
                try await OrderStore.doubts(about: products, on: connection)
            }
            // What was begun by the catalogue before begins anew.
            doubts = Array(Set(doubts).union(found))
            last = nil
        } catch {
            orders.doubtful.add(products)
            throw error
        }
    }
}
