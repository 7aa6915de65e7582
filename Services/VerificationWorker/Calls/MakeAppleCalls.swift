import Logging
import Metrics
import Persistence
import ServiceRuntime

/// The use case: what fulfillment has queued for Apple is leased, called and written down.
///
/// Any number of workers may do it: a call is leased by one of them, and due again when that one dies. Refund requests go
/// first, since they have a deadline. Nothing waits for it.
struct MakeAppleCalls: Sendable {
    /// Calls of one kind that are leased at a time.
    static let batchMaximum = 32
    /// After how long another worker may make a leased call: longer than its two attempts may take, of
    /// `AppStoreSettings.callTimeout` each, with the usual patience before each.
    static let lease = Duration.seconds(60)

    let store: AppleCallStore
    let caller: AppleCaller
    let apps: ServedApps
    let logger: Logger

    /// Looks for what is due until nothing more is.
    ///
    /// - Throws: `PostgresError`; what was called and not written down comes again, which Apple takes for the same.
    func look() async throws {
        var isMoreDue = true
        while isMoreDue, !Task.isCancelled {
            isMoreDue = false
            for kind in AppleCallStore.Kind.allCases where try await make(kind) == Self.batchMaximum {
                isMoreDue = true
            }
        }
    }

    private func make(_ kind: AppleCallStore.Kind) async throws -> Int {
        let due = try await store.claim(kind, apps: apps.withClients, limit: Self.batchMaximum, lease: Self.lease)
        guard !due.isEmpty else { return 0 }
        let outcomes = await withTaskGroup(of: AppleCallStore.Outcome.self) { group in
            for call in due { group.addTask { await caller.outcome(of: call) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        try await store.record(outcomes)
        tell(kind, due, outcomes)
        return due.count
    }

    private func tell(
        _ kind: AppleCallStore.Kind, _ due: [AppleCallStore.Due], _ outcomes: [AppleCallStore.Outcome]
    ) {
        let calls = Dictionary(due.map { ($0.id, $0) }) { first, _ in first }
        for outcome in outcomes {
            let result =
                switch outcome.result {
                case .done: "done"
                case .retry: "retry"
                case .refused: "refused"
                case .lapsed: "lapsed"
                }
            Counter(
                label: "countersign_apple_calls_total", dimensions: [("kind", kind.rawValue), ("result", result)]
            ).increment()
            guard outcome.result == .refused || outcome.result == .lapsed, let call = calls[outcome.id] else {
                continue
            }
            logger.warning(
                "a queued call to Apple is given up: \(kind.rawValue)",
                metadata: .fields([
                    .app: "\(call.app)", .transaction: "\(call.transactionId)", .reason: "\(outcome.reason ?? result)",
                    .status: "\(outcome.status.map { "\($0)" } ?? "none")",
                ]))
        }
    }
}
