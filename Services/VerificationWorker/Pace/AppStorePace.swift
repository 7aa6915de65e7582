import AppStoreServerAPI
import Foundation
import Logging
import Metrics
import Pacing
import PurchaseModel
import ServiceRuntime
import Synchronization

/// Asks Apple's hosts at the pace that they bear: a budget for each app, host and class of calls, a breaker for each host.
final class AppStorePace: Sendable {
    /// The longest that a 429 is believed: Apple counts by the hour.
    static let closureMaximum = Duration.seconds(2 * 3_600)
    /// The shortest pause between two looks at a host that rests.
    static let probePause = Duration.milliseconds(10)
    /// Budgets that metrics tell of: three series each, of the few thousand that a process may have.
    static let budgetsToldMaximum = 500

    /// Told when the main host goes away and comes back, in order.
    typealias OnOutage = @Sendable (_ isOut: Bool) -> Void

    private let budgets: RateBudgets<BudgetKey>
    /// What sweeps may use of each: players would find a budget empty otherwise that nobody else has used.
    private let sweepBudgets: RateBudgets<BudgetKey>
    private let breakers: [AppStoreHost: CircuitBreaker]
    /// Repeats the call that last failed at the main host; says whether the host is there.
    private let lastFailure = Mutex<(@Sendable () async -> AppStoreServerError.HostHealth)?>(nil)
    private let logger: Logger
    private let metrics = AppStoreCallMetrics()

    init(
        rates: AppStoreRates, sweepShare: Double = 1, breaker settings: CircuitBreaker.Settings, logger: Logger,
        onOutage: @escaping OnOutage = { _ in }
    ) {
        budgets = RateBudgets(budgetsMaximum: AppStoreRates.budgetsMaximum) { rates.limit(of: $0) }
        sweepBudgets = RateBudgets(budgetsMaximum: AppStoreRates.budgetsMaximum) { key in
            let limit = rates.limit(of: key)
            return RateBudget.Limit(perSecond: limit.perSecond * sweepShare, burst: 1)
        }
        var breakers: [AppStoreHost: CircuitBreaker] = [:]
        for host in AppStoreHost.all {
            breakers[host] = CircuitBreaker(settings: settings) { isOpen in
                logger.warning(
                    isOpen ? "a host of Apple's rests" : "a host of Apple's is back",
                    metadata: .fields([.host: "\(host.name)"]))
                if host == .main { onOutage(isOpen) }
            }
        }
        self.breakers = breakers
        self.logger = logger
    }

    /// Our part of every limit, from 0 to 1.
    func setShare(_ share: Double) {
        budgets.setShare(share)
        sweepBudgets.setShare(share)
    }

    /// The breaker of a host.
    func breaker(of host: AppStoreHost) -> CircuitBreaker {
        breakers[host] ?? CircuitBreaker()
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
    ///   - asker: the account that it is for; see `RateBudget.acquire`.
    ///   - patience: how long it may wait for room.
    ///   - body: the call; throws `AppStoreServerError` or `CancellationError`.
    func call<Value: Sendable>(
        _ host: AppStoreHost, app: String, callClass: CallClass = .usual, priority: Priority, asker: String,
        patience: Duration, _ body: @escaping @Sendable () async throws -> Value
    ) async -> CallOutcome<Value> {
        let breaker = breaker(of: host)
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
        return outcome(result, host: host, budget: budget, admission, body)
    }

    /// Calls the main host once more if its turn has come; returns when to look again, nil when the host is back.
    func probe() async -> Duration? {
        let breaker = breaker(of: .main)
        guard breaker.isOpen else { return nil }
        if let wait = breaker.nextProbe, wait > .zero { return max(wait, AppStorePace.probePause) }
        guard let call = lastFailure.withLock({ $0 }) else { return AppStorePace.probePause }
        switch breaker.admit() {
        case .allowed: return nil
        case .refused(let wait): return max(wait, AppStorePace.probePause)
        case .probe: break
        }
        let health = await call()
        switch health {
        case .isThere: breaker.succeeded(.probe)
        case .isInTrouble: breaker.failed(.probe)
        case .isNotKnown: breaker.abandoned(.probe)
        }
        Self.calls(.main, outcome: "probe").increment()
        return breaker.isOpen ? max(breaker.nextProbe ?? .zero, AppStorePace.probePause) : nil
    }

    private func outcome<Value: Sendable>(
        _ result: Result<Value, any Error>, host: AppStoreHost, budget: RateBudget,
        _ admission: CircuitBreaker.Admission, _ body: @escaping @Sendable () async throws -> Value
    ) -> CallOutcome<Value> {
        let breaker = breaker(of: host)
        switch result {
        case .success(let value):
            breaker.succeeded(admission)
            Self.calls(host, outcome: "answer").increment()
            return .answer(value)
        case .failure(let error as AppStoreServerError):
            Self.calls(host, outcome: error.category.rawValue).increment()
            switch error.hostHealth {
            case .isThere: breaker.succeeded(admission)
            case .isInTrouble:
                if host == .main { remember(body) }
                breaker.failed(admission)
            case .isNotKnown: breaker.abandoned(admission)
            }
            return refusal(error, host: host, budget: budget)
        case .failure:
            // The task was cancelled: nothing is known of the host.
            breaker.abandoned(admission)
            Self.calls(host, outcome: "cancelled").increment()
            return .later(.appStoreUnavailable, afterSeconds: RetryTime.late)
        }
    }

    private func refusal<Value: Sendable>(
        _ error: AppStoreServerError, host: AppStoreHost, budget: RateBudget
    ) -> CallOutcome<Value> {
        switch error.category {
        case .rateLimited:
            let wait = Self.wait(until: error.retryAfter, now: Date())
            budget.close(for: wait)
            return .later(.rateLimited, afterSeconds: wait.inSeconds)
        case .server, .transport, .unreadable:
            let wait = breaker(of: host).nextProbe?.inSeconds ?? RetryTime.appStoreTrouble
            return .later(.appStoreUnavailable, afterSeconds: max(wait, RetryTime.late))
        case .notFound, .unauthorized, .invalidRequest:
            return .refused(error)
        }
    }

    /// How long a 429 keeps us away: to the instant that Apple names, and never less.
    static func wait(until instant: Date?, now: Date) -> Duration {
        guard let instant else { return .seconds(RetryTime.rateLimited) }
        let milliseconds = (instant.timeIntervalSince(now) * 1_000).rounded(.up)
        let most = AppStorePace.closureMaximum.inSeconds * 1_000
        return .milliseconds(Int64(min(max(milliseconds, 1), most)))
    }

    private func remember<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) {
        lastFailure.withLock { last in
            last = {
                switch await Self.caught(body) {
                case .success: .isThere
                case .failure(let error as AppStoreServerError): error.hostHealth
                case .failure: .isNotKnown
                }
            }
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
