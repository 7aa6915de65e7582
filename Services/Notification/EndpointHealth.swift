import Foundation
import Logging
import Persistence
import ServiceRuntime

/// Notes how endpoints fare, and switches off those that are gone or have done nothing but fail for days.
struct EndpointHealth {
    /// How often a success is noted at least: another process may have noted a failure in between.
    static let successInterval = Duration.seconds(30)

    private let store: EndpointStore
    private let disableAfter: Duration
    private let logger: Logger
    private let clock = ContinuousClock()
    private var successNotedAt: [String: ContinuousClock.Instant] = [:]

    init(store: EndpointStore, disableAfter: Duration, logger: Logger) {
        self.store = store
        self.disableAfter = disableAfter
        self.logger = logger
    }

    /// Takes in what attempts led to.
    ///
    /// - Returns: endpoints that were switched off.
    /// - Throws: `PostgresError`.
    mutating func note(_ finished: [DeliveryInbox.Finished]) async throws -> Set<String> {
        var disabled: Set<String> = []
        for (id, attempts) in Dictionary(grouping: finished, by: \.endpointId) {
            let verdicts = attempts.compactMap(\.verdict)
            if let reason = verdicts.lazy.compactMap(\.disableReason).first {
                try await disable(id, reason: reason)
                disabled.insert(id)
            } else if verdicts.contains(where: \.isSuccess) {
                try await noteSuccess(id)
            } else if !verdicts.isEmpty, try await noteFailure(id) {
                disabled.insert(id)
            }
        }
        return disabled
    }

    private mutating func noteSuccess(_ id: String) async throws {
        if let last = successNotedAt[id], clock.now - last < Self.successInterval { return }
        _ = try await store.note(id, succeeded: true)
        successNotedAt[id] = clock.now
    }

    private mutating func noteFailure(_ id: String) async throws -> Bool {
        successNotedAt[id] = nil
        guard let since = try await store.note(id, succeeded: false) else { return false }
        guard Date().timeIntervalSince(since) >= Double(disableAfter.components.seconds) else { return false }
        try await disable(id, reason: "it has only failed since \(since.formatted(.iso8601))")
        return true
    }

    private func disable(_ id: String, reason: String) async throws {
        try await store.disable(id, reason: reason)
        logger.error(
            "a webhook endpoint was switched off; its deliveries wait until it is switched on again",
            metadata: .fields([.endpoint: "\(id)", .reason: "\(reason)"]))
    }
}
