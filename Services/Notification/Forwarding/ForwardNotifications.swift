import Foundation
import Logging
import Metrics
import Persistence
import ServiceLifecycle
import ServiceRuntime

/// The use case: what Apple signed goes on to a studio's older consumer, until that has taken it or its schedule is used up.
///
/// Any number of processes may do it: each leases what is due. A consumer hears the same notification more than once when an
/// attempt's answer is lost, as it does from Apple.
struct ForwardNotifications: Service {
    /// Attempts at a time, of all apps.
    static let batchMaximum = 32

    let store: NotificationForwardStore
    let targets: ForwardTargets
    let post: EndpointPost
    let schedule: RetrySchedule
    let lease: Duration
    let logger: Logger
    /// Between looks.
    var interval = Duration.seconds(2)
    /// From -1 to 1.
    var chance: @Sendable () -> Double = { .random(in: -1...1) }

    /// Looks until graceful shutdown, then ends the connections.
    func run() async throws {
        try await PeriodicTask("forward-notifications", schedule: .init(every: interval), logger: logger) {
            try await look()
        }.run()
        await post.clients.close()
    }

    /// Sends what is due until nothing more is.
    ///
    /// - Throws: `PostgresError`; then some of it comes again.
    func look() async throws {
        var isMoreDue = true
        while isMoreDue, !Task.isCancelled {
            let due = try await store.claim(apps: targets.apps, limit: Self.batchMaximum, lease: lease)
            isMoreDue = due.count == Self.batchMaximum
            guard !due.isEmpty else { return }
            let outcomes = await withTaskGroup(of: NotificationForwardStore.Outcome.self) { group in
                for forward in due { group.addTask { await outcome(of: forward) } }
                return await group.reduce(into: []) { $0.append($1) }
            }
            try await store.record(outcomes)
            outcomes.forEach(tell)
        }
    }

    private func outcome(of forward: NotificationForwardStore.Due) async -> NotificationForwardStore.Outcome {
        func outcome(
            _ result: NotificationForwardStore.Outcome.Result, status: Int?, error: String?
        ) -> NotificationForwardStore.Outcome {
            .init(app: forward.app, uuid: forward.uuid, result: result, status: status, error: error)
        }
        guard let payload = forward.signedPayload else {
            return outcome(.givenUp, status: nil, error: "what Apple signed is not there any more")
        }
        guard let endpoint = targets[forward.app] else {
            return outcome(.retry(after: schedule.outageDelay(chance: chance())), status: nil, error: "no address")
        }
        let (status, error): (Int?, String)
        switch await post.send(signedPayload: payload, to: endpoint) {
        // Apple takes these for success, too (apple-facts C9).
        case .answered(let answered, _, _) where (200...206).contains(answered):
            return outcome(.delivered, status: answered, error: nil)
        case .answered(let answered, let excerpt, _):
            let beginning = excerpt.prefix(AnswerText.errorCharactersMaximum)
            (status, error) = (answered, excerpt.isEmpty ? "status \(answered)" : "status \(answered): \(beginning)")
        case .failed(let reason): (status, error) = (nil, reason)
        }
        guard let delay = schedule.delay(afterAttempts: forward.attempts + 1, chance: chance()) else {
            return outcome(.givenUp, status: status, error: error)
        }
        return outcome(.retry(after: delay), status: status, error: error)
    }

    private func tell(_ outcome: NotificationForwardStore.Outcome) {
        let result =
            switch outcome.result {
            case .delivered: "delivered"
            case .retry: "retry"
            case .givenUp: "given_up"
            }
        Counter(
            label: "countersign_notification_forwards_total", dimensions: [("app", outcome.app), ("result", result)]
        ).increment()
        guard outcome.result == .givenUp else { return }
        logger.error(
            "a notification of Apple's is not sent on: its schedule is used up",
            metadata: .fields([
                .app: "\(outcome.app)", .message: "\(outcome.uuid)", .error: "\(outcome.error ?? "none")",
            ]))
    }
}
