import EventProcessing
import Persistence
import Postgres
import PurchaseModel

/// The use case: an order is decided anew once somebody registers its token, or an operator says whose it is.
///
/// Both have a row until it is committed what came of it: a process that dies in the middle leaves it to the next.
struct ReleaseRequested: Sendable {
    let orders: ReleaseOrders

    /// Requests of one commit; of most tokens nothing waits.
    static let requestsPerLook = 100
    /// Orders of one request in one commit: with all requests as many as `FulfillVerdicts` settles in one.
    static let ordersPerRequest = 20
    /// Commits of one look.
    static let commitsPerLook = 50
    /// After how long an order is looked at again that somebody else held locked.
    static let retryDelay = Duration.seconds(1)

    /// Takes up what is asked for.
    ///
    /// - Parameter limit: the most claims and requests of one commit.
    /// - Throws: `PostgresError`; what was not committed comes again.
    func look(limit: Int) async throws -> Redriver.Round {
        var (count, isMoreDue, commits) = (0, true, 0)
        while isMoreDue, commits < Self.commitsPerLook {
            let (released, isMore) = try await commit(limit: limit)
            count += released
            (isMoreDue, commits) = (isMore, commits + 1)
        }
        return Redriver.Round(count: count, isMoreDue: isMoreDue)
    }

    private func commit(limit: Int) async throws -> (count: Int, isMoreDue: Bool) {
        let catalogue = try await orders.catalogues.current()
        let requestsMaximum = min(limit, Self.requestsPerLook)
        let (released, isMoreDue) = try await orders.pool.withTransaction { connection in
            let claims = try await OperatorClaimStore.due(limit: limit, on: connection)
            let requests = try await ReleaseRequestStore.take(limit: requestsMaximum, on: connection)
            let claimed = try await OrderStore.candidates(claimed: claims.map(\.key), on: connection)
            let named = try await OrderStore.candidates(
                of: requests, limit: Self.ordersPerRequest, on: connection)
            let released = try await orders.release(
                Self.distinct(claimed + named.candidates), claims, by: catalogue, on: connection)
            try await settle(
                requests, named.byRequest, unfinished: named.unfinished, blocked: released.blocked, on: connection)
            return (released, requests.count == requestsMaximum || !named.unfinished.isEmpty)
        }
        await orders.announce(released)
        return (released.count, isMoreDue)
    }

    private static func distinct(_ candidates: [OrderStore.Candidate]) -> [OrderStore.Candidate] {
        Dictionary(candidates.map { ($0.key, $0) }) { first, _ in first }.values.sorted { $0.key < $1.key }
    }

    private func settle(
        _ requests: [ReleaseRequestStore.Request], _ named: [Int64: Set<OrderKey>], unfinished: [Int64: OrderKey],
        blocked: Set<OrderKey>, on connection: PostgresConnection
    ) async throws {
        var results = ReleaseRequestStore.Results()
        for request in requests {
            if !blocked.isDisjoint(with: named[request.id] ?? []) {
                results.putOff.append(request.id)
            } else if let last = unfinished[request.id] {
                results.advanced[request.id] = last
            } else {
                results.finished.append(request.id)
            }
        }
        try await ReleaseRequestStore.settle(results, delay: Self.retryDelay, on: connection)
    }
}
