import Logging
import Metrics
import Persistence
import ServiceRuntime
import Synchronization

/// Follows the endpoints of the database, and takes away what waits for those that were removed.
///
/// Events are taken over only once they were read: an endpoint that is there is told of every event from then on, also by a process
/// that has just started.
final class StoredEndpoints: Sendable {
    private struct State {
        /// What is in use; nil until it was read once.
        var inUse: [StoredEndpointStore.Live]?
        /// What was told of last, so that only what is new is told.
        var told: [String: String] = [:]
    }

    private let store: StoredEndpointStore
    private let endpoints: WebhookEndpoints
    private let seal: SecretSeal?
    private let allowsPrivateAddresses: Bool
    private let logger: Logger
    private let onChange: @Sendable (Set<String>) -> Void
    private let state = Mutex(State())
    private let held = Gauge(label: "countersign_webhook_endpoints_held")

    /// - Parameters:
    ///   - seal: opens secrets; nil where no key is configured.
    ///   - allowsPrivateAddresses: for development.
    ///   - onChange: is told of the ids of endpoints that are new or others by now, or are gone.
    init(
        store: StoredEndpointStore, endpoints: WebhookEndpoints, seal: SecretSeal?, allowsPrivateAddresses: Bool,
        logger: Logger, onChange: @escaping @Sendable (Set<String>) -> Void
    ) {
        self.store = store
        self.endpoints = endpoints
        self.seal = seal
        self.allowsPrivateAddresses = allowsPrivateAddresses
        self.logger = logger
        self.onChange = onChange
    }

    /// Reads them unless they were read before.
    ///
    /// - Throws: `PostgresError`.
    func readOnce() async throws {
        guard state.withLock({ $0.inUse == nil }) else { return }
        try await read()
    }

    /// Reads them, and goes on with taking away what waits for removed ones.
    ///
    /// - Throws: `PostgresError`.
    func look() async throws {
        try await read()
        let dropped = try await store.clearRemoved()
        guard dropped > 0 else { return }
        logger.notice(
            "what waited for webhook endpoints that were removed is taken away",
            metadata: .fields([.count: "\(dropped)"]))
    }

    private func read() async throws {
        let live = try await store.live()
        let old = state.withLock { $0.inUse }
        if live != old {
            let others = try live.map {
                try WebhookEndpoint($0, seal: seal, allowsPrivateAddresses: allowsPrivateAddresses)
            }
            endpoints.use(stored: others)
            state.withLock { $0.inUse = live }
            let known = Dictionary(uniqueKeysWithValues: (old ?? []).map { ($0.id, $0) })
            let gone = Set(known.keys).subtracting(live.map(\.id))
            let ids = gone.union(live.filter { known[$0.id] != $0 }.map(\.id))
            onChange(ids)
            if !ids.isEmpty {
                logger.info(
                    "webhook endpoints of the database were added, changed or removed",
                    metadata: .fields([.count: "\(ids.count)"]))
            }
        }
        tell()
    }

    /// Tells of endpoints that nothing can be sent to, each once.
    private func tell() {
        var reasons: [String: String] = [:]
        for endpoint in endpoints.all { reasons[endpoint.id] = endpoint.hold }
        for id in endpoints.clashes {
            reasons[id] = "the webhooks file has an endpoint of the same name, which is used in its place"
        }
        held.record(reasons.count)
        let news = state.withLock { state in
            defer { state.told = reasons }
            return reasons.filter { state.told[$0.key] != $0.value }
        }
        for (id, reason) in news {
            logger.error(
                "nothing can be sent to a webhook endpoint of the database",
                metadata: .fields([.endpoint: "\(id)", .reason: "\(reason)"]))
        }
    }
}
