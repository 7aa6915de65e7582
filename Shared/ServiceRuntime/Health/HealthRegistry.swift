import Synchronization

/// What must be well for this process to be sent work; `/readyz` answers with it.
///
/// A check is set by the part it belongs to; a probe is asked when somebody wants to know. Both have a name. As soon
/// as graceful shutdown begins, the process is not ready, whatever the checks say.
package final class HealthRegistry: Sendable {
    /// How long a probe may take by default: well within the usual time-out of an orchestrator's readiness request.
    package static let probeTimeoutDefault = Duration.seconds(2)

    private struct State {
        var checks: [HealthCheck] = []
        var probes: [HealthProbe] = []
        var isShuttingDown = false
    }

    private let state = Mutex(State())

    /// Makes a registry without checks, which is ready.
    package init() {}

    /// Adds a check that is not ready until it is set.
    ///
    /// - Parameter name: The name in the answer; the same name gives the same check.
    package func register(_ name: String) -> HealthCheck {
        state.withLock { state in
            if let known = state.checks.first(where: { $0.name == name }) { return known }
            let check = HealthCheck(name: name)
            state.checks.append(check)
            return check
        }
    }

    /// Adds a probe that is run for each question; one run at a time, shared by everybody who asks meanwhile.
    ///
    /// - Parameters:
    ///   - name: The name in the answer.
    ///   - timeout: How long the answer waits. A run that takes longer goes on, and no second one starts beside it.
    ///     Default: 2 seconds.
    ///   - body: Returns when all is well, throws what is wrong; the error's description is shown.
    package func registerProbe(
        _ name: String, timeout: Duration = probeTimeoutDefault, _ body: @escaping @Sendable () async throws -> Void
    ) {
        let probe = HealthProbe(name: name, timeout: timeout, body: body)
        state.withLock { $0.probes.append(probe) }
    }

    /// Makes the process not ready for good: no more work, please.
    package func beginShutdown() {
        state.withLock { $0.isShuttingDown = true }
    }

    /// Asks all checks and probes, the probes at the same time.
    package func report() async -> HealthReport {
        let (checks, probes, isShuttingDown) = state.withLock { ($0.checks, $0.probes, $0.isShuttingDown) }
        var results = checks.map(\.result)
        if isShuttingDown {
            results.append(.init(name: "shutdown", ready: false, detail: "the process is shutting down"))
        }
        results += await withTaskGroup(of: HealthReport.Check.self) { group in
            for probe in probes { group.addTask { await probe.result() } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        results.sort { $0.name < $1.name }
        return HealthReport(isReady: results.allSatisfy(\.ready), checks: results)
    }
}

/// One named condition, set by the part of the process it belongs to.
package final class HealthCheck: Sendable {
    /// The name in the answer.
    package let name: String
    private let state = Mutex((ready: false, detail: "starting"))

    init(name: String) {
        self.name = name
    }

    /// Says how things stand.
    ///
    /// - Parameters:
    ///   - ready: Whether this part can do its work.
    ///   - detail: A few words for whoever asks, without secrets.
    package func set(ready: Bool, detail: String = "") {
        state.withLock { $0 = (ready, detail) }
    }

    var result: HealthReport.Check {
        let (ready, detail) = state.withLock { $0 }
        return HealthReport.Check(name: name, ready: ready, detail: detail)
    }
}

/// The answer of `/readyz`.
package struct HealthReport: Sendable, Codable, Equatable {
    /// One named condition.
    package struct Check: Sendable, Codable, Equatable {
        /// The name it was registered with.
        package var name: String
        /// Whether it holds.
        package var ready: Bool
        /// A few words about it.
        package var detail: String
    }

    /// Whether every check holds.
    package var isReady: Bool
    /// All checks, sorted by name.
    package var checks: [Check]

    private enum CodingKeys: String, CodingKey {
        case isReady = "ready"
        case checks
    }
}
