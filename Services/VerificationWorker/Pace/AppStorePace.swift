import AppStoreServerAPI
import Foundation
import Logging
import Metrics
import Pacing
import PurchaseModel
import ServiceRuntime
import Synchronization

/// Asks Apple's hosts at the pace that they bear: a budget for each app, host and class of calls, a breaker for each host
/// and use.
final class AppStorePace: Sendable {
    /// The shortest pause between two looks at a host that rests.
    static let probePause = Duration.milliseconds(10)
    /// Budgets that metrics tell of: three series each, of the few thousand that a process may have.
    static let budgetsToldMaximum = 500

    /// Told when the main host goes away and comes back, in order.
    typealias OnOutage = @Sendable (_ isOut: Bool) -> Void
    /// Asks the main host a question that is nobody's; throws as a call does.
    typealias Probe = @Sendable () async throws -> Void

    private struct BreakerKey: Hashable {
        let host: AppStoreHost
        let use: CallUse
    }

    private let budgets: RateBudgets<BudgetKey>
    /// What sweeps may use of each: players would find a budget empty otherwise that nobody else has used.
    private let sweepBudgets: RateBudgets<BudgetKey>
    private let breakers: [BreakerKey: CircuitBreaker]
    /// Of the budgets whose last answer was a 429.
    private let streaks = Mutex<[BudgetKey: RateLimitStreak]>([:])
    private let ask: Probe
    private let logger: Logger
    private let metrics = AppStoreCallMetrics()

    /// - Parameter probe: what is asked while the main host rests. No call of somebody's is repeated for that: it may be
    ///   one that never succeeds, and lookups would wait for ever.
    init(
        rates: AppStoreRates, sweepShare: Double = 1, breaker settings: CircuitBreaker.Settings, logger: Logger,
        probe: @escaping Probe, onOutage: @escaping OnOutage = { _ in }
    ) {
        budgets = RateBudgets(budgetsMaximum: AppStoreRates.budgetsMaximum) { rates.limit(of: $0) }
        sweepBudgets = RateBudgets(budgetsMaximum: AppStoreRates.budgetsMaximum) { key in
            let limit = rates.limit(of: key)
            return RateBudget.Limit(perSecond: limit.perSecond * sweepShare, burst: 1)
        }
        var breakers: [BreakerKey: CircuitBreaker] = [:]
        for host in AppStoreHost.all {
            for use in CallUse.allCases {
                breakers[BreakerKey(host: host, use: use)] = CircuitBreaker(settings: settings) { isOpen in
                    logger.warning(
                        isOpen ? "a host of Apple's rests: \(use)" : "a host of Apple's is back: \(use)",
                        metadata: .fields([.host: "\(host.name)"]))
                    if host == .main, use == .lookups { onOutage(isOpen) }
                }
            }
        }
        self.breakers = breakers
        ask = probe
        self.logger = logger
    }

    /// Our part of every limit, from 0 to 1.
    func setShare(_ share: Double) {
        budgets.setShare(share)
        sweepBudgets.setShare(share)
    }

    /// The breaker of a host, for calls of one use.
    func breaker(of host: AppStoreHost, for use: CallUse = .lookups) -> CircuitBreaker {
        breakers[BreakerKey(host: host, use: use)] ?? CircuitBreaker()
    }

    /// Every budget at this moment; of very many the first ``budgetsToldMaximum``, by app, host and class.
    var budgetStatistics: [(key: BudgetKey, statistics: RateBudget.Statistics)] {
        let all = budgets.statistics.map { (key: $0.key, statistics: $0.value) }
        func precedes(_ left: BudgetKey, _ right: BudgetKey) -> Bool {
            (left.app, left.host.name, left.callClass.rawValue) < (right.app, right.host.name, right.callClass.rawValue)
        }
        return Array(all.sorted { precedes($0.key, $1.key) }.prefix(AppStorePace.budgetsToldMaximum))
    }

    /// Whether lookups wait for the main host to come back.
    var isOut: Bool { breaker(of: .main).isOpen }

    /// Makes one call when there is room for it.
    ///
    /// - Parameters:
    ///   - callClass: whose budget it is taken from.
    ///   - use: whose breaker it is told to.
    ///   - asker: the account that it is for; see `RateBudget.acquire`.
    ///   - patience: how long it may wait for room.
    ///   - body: the call; throws `AppStoreServerError` or `CancellationError`.
    func call<Value: Sendable>(
        _ host: AppStoreHost, app: String, callClass: CallClass = .usual, use: CallUse = .lookups, priority: Priority,
        asker: String, patience: Duration, _ body: @Sendable () async throws -> Value
    ) async -> CallOutcome<Value> {
        let breaker = breaker(of: host, for: use)
        // No room is used up for a call that would not go out.
        if let wait = breaker.nextProbe, wait > .zero {
            return .later(.appStoreUnavailable, afterSeconds: wait.inSeconds)
        }
        let key = BudgetKey(app: app, host: host, callClass: callClass)
        if priority == .sweep,
            case .refused(let wait) = await sweepBudgets.budget(for: key).acquire(
                priority, asker: asker, patience: patience)
        {
            return .later(.rateLimited, afterSeconds: wait.inSeconds)
        }
        let budget = budgets.budget(for: key)
        if case .refused(let wait) = await budget.acquire(priority, asker: asker, patience: patience) {
            Self.budgetRefusals(host).increment()
            return .later(.rateLimited, afterSeconds: wait.inSeconds)
        }
        let admission = breaker.admit()
        if case .refused(let wait) = admission {
            return .later(.appStoreUnavailable, afterSeconds: wait.inSeconds)
        }
        let start = ContinuousClock.now
        let result = await Self.caught(body)
        metrics.record(host, result, took: ContinuousClock.now - start)
        Self.report(result, admission, to: breaker)
        return outcome(result, of: key, sent: start, breaker: breaker)
    }

    /// Asks the main host if its turn has come; returns when to look again, nil when the host is back.
    func probe() async -> Duration? {
        let breaker = breaker(of: .main)
        switch breaker.admit() {
        case .allowed: return nil
        case .refused(let wait): return max(wait, AppStorePace.probePause)
        case .probe: break
        }
        Self.report(await Self.caught(ask), .probe, to: breaker)
        Self.calls(.main, outcome: "probe").increment()
        return breaker.nextProbe.map { max($0, AppStorePace.probePause) }
    }

    /// Tells a breaker what came of a call; of one that was cancelled nothing is known.
    private static func report<Value: Sendable>(
        _ result: Result<Value, any Error>, _ admission: CircuitBreaker.Admission, to breaker: CircuitBreaker
    ) {
        let health: AppStoreServerError.HostHealth =
            switch result {
            case .success: .isThere
            case .failure(let error as AppStoreServerError): error.hostHealth
            case .failure: .isNotKnown
            }
        switch health {
        case .isThere: breaker.succeeded(admission)
        case .isInTrouble: breaker.failed(admission)
        case .isNotKnown: breaker.abandoned(admission)
        }
    }

    private func outcome<Value: Sendable>(
        _ result: Result<Value, any Error>, of key: BudgetKey, sent: ContinuousClock.Instant, breaker: CircuitBreaker
    ) -> CallOutcome<Value> {
        switch result {
        case .success(let value):
            endStreak(of: key, sent: sent)
            Self.calls(key.host, outcome: "answer").increment()
            return .answer(value)
        case .failure(let error as AppStoreServerError):
            Self.calls(key.host, outcome: error.category.rawValue).increment()
            return refusal(error, of: key, sent: sent, breaker: breaker)
        case .failure:
            Self.calls(key.host, outcome: "cancelled").increment()
            return .later(.appStoreUnavailable, afterSeconds: RetryTime.late)
        }
    }

    private func refusal<Value: Sendable>(
        _ error: AppStoreServerError, of key: BudgetKey, sent: ContinuousClock.Instant, breaker: CircuitBreaker
    ) -> CallOutcome<Value> {
        switch error.category {
        case .rateLimited:
            let named = RateLimitStreak.wait(until: error.retryAfter, now: Date())
            let pause = streaks.withLock { streaks in
                streaks[key, default: RateLimitStreak()].pause(named, sent: sent, now: .now)
            }
            budgets.budget(for: key).close(for: pause)
            return .later(.rateLimited, afterSeconds: pause.inSeconds)
        case .server, .transport, .unreadable:
            let wait = breaker.nextProbe?.inSeconds ?? RetryTime.appStoreTrouble
            return .later(.appStoreUnavailable, afterSeconds: max(wait, RetryTime.late))
        case .notFound, .unauthorized, .invalidRequest:
            endStreak(of: key, sent: sent)
            return .refused(error)
        }
    }

    private func endStreak(of key: BudgetKey, sent: ContinuousClock.Instant) {
        streaks.withLock { streaks in
            if let streak = streaks[key], streak.isOver(byAnswerToCallSent: sent) { streaks[key] = nil }
        }
    }

    @inline(never)
    private static func caught<Value: Sendable>(
        _ body: @Sendable () async throws -> Value
    ) async -> Result<Value, any Error> {
        do { return .success(try await body()) } catch { return .failure(error) }
    }

    private static func calls(_ host: AppStoreHost, outcome: String) -> Counter {
        Counter(
            label: "countersign_app_store_calls_total", dimensions: [("host", host.name), ("outcome", outcome)])
    }

    private static func budgetRefusals(_ host: AppStoreHost) -> Counter {
        Counter(label: "countersign_app_store_budget_refusals_total", dimensions: [("host", host.name)])
    }
}

extension Duration {
    /// With its fraction.
    var inSeconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }
}
