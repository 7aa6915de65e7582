import Foundation
import Logging
import Persistence
import ServiceRuntime

/// Notes how endpoints fare, and switches off those that are gone or have done nothing but fail for days.
struct EndpointHealth {
    /// How often a success at the first attempt is noted at least: another process may have noted a failure in between.
    static let successInterval = Duration.seconds(30)

    private let store: EndpointStore
    private let settings: DeliverySettings
    private let logger: Logger
    private let clock = ContinuousClock()
    private var successNotedAt: [String: ContinuousClock.Instant] = [:]
    /// The first failure that this process saw after `disableAfter`.
    private var overdueAt: [String: Date] = [:]

    init(store: EndpointStore, settings: DeliverySettings, logger: Logger) {
        self.store = store
        self.settings = settings
        self.logger = logger
    }

    /// Takes in what attempts led to.
    ///
    /// - Returns: endpoints that were switched off.
    /// - Throws: `PostgresError`.
    mutating func note(_ finished: [DeliveryInbox.Finished], now: Date = Date()) async throws -> Set<String> {
        var disabled: Set<String> = []
        for (id, attempts) in Dictionary(grouping: finished, by: \.endpointId) {
            let verdicts = attempts.compactMap(\.verdict)
            if let reason = verdicts.lazy.compactMap(\.disableReason).first {
                try await disable(id, reason: reason)
                disabled.insert(id)
            } else if verdicts.contains(where: \.isSuccess) {
                try await noteSuccess(id, ofRetry: attempts.contains { $0.number > 1 && $0.verdict.isSuccess })
            } else if !verdicts.isEmpty, try await noteFailure(id, now: now) {
                disabled.insert(id)
            }
        }
        return disabled
    }

    private mutating func noteSuccess(_ id: String, ofRetry isRetry: Bool) async throws {
        let isKnown = successNotedAt[id].map { clock.now - $0 < Self.successInterval } ?? false
        // Before a retry somebody has noted a failure, perhaps another process a moment ago.
        guard !isKnown || isRetry else { return }
        try await store.noteSuccess(id, ifFailing: isKnown)
        if !isKnown { successNotedAt[id] = clock.now }
    }

    private mutating func noteFailure(_ id: String, now: Date) async throws -> Bool {
        successNotedAt[id] = nil
        guard let since = try await store.noteFailure(id) else { return false }
        let dueAt = since.addingTimeInterval(settings.disableAfter / .seconds(1))
        guard now >= dueAt else { return false }
        // A single failure, long after one of a delivery that was given up, says nothing of the time in between.
        guard let first = overdueAt[id], first >= dueAt else {
            overdueAt[id] = now
            return false
        }
        guard now.timeIntervalSince(first) >= settings.disableConfirmation / .seconds(1) else { return false }
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
