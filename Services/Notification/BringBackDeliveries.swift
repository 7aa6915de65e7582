import Logging
import Metrics
import Persistence
import Postgres
import ServiceRuntime

/// Makes deliveries due again: those of endpoints that were switched on again, and those that somebody asked for.
///
/// It works in batches, so that however many there are, the loop goes on with the rest of its work between two looks.
struct BringBackDeliveries: Sendable {
    /// Deliveries of one statement.
    static let batchMaximum = 1_000
    /// Statements of each kind in one look.
    static let batchesPerLook = 10

    /// What the next look goes on with.
    struct Unfinished: Sendable {
        /// Endpoints whose deliveries are not all back: nothing may be sent to them yet, or the oldest were not first.
        var resuming: Set<String> = []
        /// Whether more is asked for than was taken up.
        var hasRequests = false

        var isEmpty: Bool { resuming.isEmpty && !hasRequests }
    }

    private let deliveries: DeliveryStore
    private let endpoints: EndpointStore
    private let lease: Duration
    private let logger: Logger
    private let resent = Counter(label: "countersign_webhook_resends_total")

    /// - Parameter lease: of deliveries that are being tried, which are left alone.
    init(pool: PostgresPool, lease: Duration, logger: Logger) {
        deliveries = DeliveryStore(pool: pool)
        endpoints = EndpointStore(pool: pool)
        self.lease = lease
        self.logger = logger
    }

    /// Brings back what one look has time for.
    ///
    /// - Parameter resuming: endpoints that were switched on again.
    /// - Throws: `PostgresError`.
    func run(endpointIds: [String], resuming: Set<String>) async throws -> Unfinished {
        var unfinished = Unfinished()
        for id in resuming.sorted() {
            if try await resume(id) {
                logger.notice(
                    "a webhook endpoint is on again; what waited goes out", metadata: .fields([.endpoint: "\(id)"]))
            } else {
                unfinished.resuming.insert(id)
            }
        }
        unfinished.hasRequests = try await takeUp(endpointIds)
        return unfinished
    }

    /// - Returns: whether all of the endpoint's deliveries are back.
    private func resume(_ id: String) async throws -> Bool {
        for _ in 1...Self.batchesPerLook {
            guard try await deliveries.resume(id, limit: Self.batchMaximum) else { continue }
            try await endpoints.finishResuming(id)
            return true
        }
        return false
    }

    /// - Returns: whether there may be more.
    private func takeUp(_ endpointIds: [String]) async throws -> Bool {
        for _ in 1...Self.batchesPerLook {
            let taken = try await deliveries.takeUp(endpointIds: endpointIds, limit: Self.batchMaximum, lease: lease)
            if taken.deliveries > 0 {
                resent.increment(by: taken.deliveries)
                logger.notice(
                    "webhooks are sent again, as was asked for", metadata: .fields([.count: "\(taken.deliveries)"]))
            }
            if taken.requests < Self.batchMaximum { return false }
        }
        return true
    }
}
