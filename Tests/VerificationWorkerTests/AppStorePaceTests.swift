import AppStoreServerAPI
import Foundation
import Pacing
import PurchaseModel
import Synchronization
import Testing

@testable import VerificationWorker

extension CallOutcome {
    /// Which of them it is.
    fileprivate var name: String {
        switch self {
        case .answer: "answer"
        case .refused: "refused"
        case .later(.rateLimited, _): "rateLimited"
        case .later: "unavailable"
        }
    }

    fileprivate var seconds: Double? {
        switch self {
        case .answer, .refused: nil
        case .later(_, let seconds): seconds
        }
    }
}

extension AppStoreServerError {
    fileprivate static func made(_ category: Category, status: Int?, retryAfter: Date? = nil) -> AppStoreServerError {
        AppStoreServerError(category: category, status: status, code: nil, message: "", retryAfter: retryAfter)
    }
}

@Suite("The pace at which Apple is asked")
struct AppStorePaceTests {
    private static let trouble = AppStoreServerError.made(.server, status: 503)

    private func pace(
        perSecond: Double = 10_000, breaker: CircuitBreaker.Settings = .init(),
        onOutage: @escaping AppStorePace.OnOutage = { _ in }, probe: @escaping AppStorePace.Probe = {}
    ) -> AppStorePace {
        AppStorePace(
            rates: AppStoreRates(perSecond: perSecond, share: 1), breaker: breaker, logger: Stage.quiet, probe: probe,
            onOutage: onOutage)
    }

    private func call(
        _ pace: AppStorePace, _ host: AppStoreHost = .main, app: String = "a", use: CallUse = .lookups,
        patience: Duration = .seconds(30), _ body: @escaping @Sendable () async throws -> Bool
    ) async -> CallOutcome<Bool> {
        await pace.call(host, app: app, use: use, priority: .player, asker: "", patience: patience, body)
    }

    @Test("A 429 is honoured to the millisecond: nobody asks before, and who does not wait is told when")
    func retryAfter() async {
        let pace = pace()
        let instant = Date().addingTimeInterval(0.7)
        let first = await call(pace) { throw AppStoreServerError.made(.rateLimited, status: 429, retryAfter: instant) }
        #expect(first.name == "rateLimited")
        #expect(Date().addingTimeInterval(first.seconds ?? 0) >= instant)
        let impatient = await call(pace, patience: .zero) { true }
        #expect(impatient.name == "rateLimited")
        #expect(Date().addingTimeInterval(impatient.seconds ?? 0) >= instant)
        let asked = Mutex(Date.distantPast)
        let patient = await call(pace) {
            asked.withLock { $0 = Date() }
            return true
        }
        #expect(patient.name == "answer")
        #expect(asked.withLock { $0 } >= instant)
    }

    @Test("A 429 is for one app in one place")
    func apart() async {
        let pace = pace()
        let later = Date().addingTimeInterval(3_600)
        _ = await call(pace) { throw AppStoreServerError.made(.rateLimited, status: 429, retryAfter: later) }
        #expect(await call(pace, patience: .zero) { true }.name == "rateLimited")
        #expect(await call(pace, app: "b", patience: .zero) { true }.name == "answer")
        let sandbox = AppStoreHost(kind: .serverAPI, environment: .sandbox)
        #expect(await call(pace, sandbox, patience: .zero) { true }.name == "answer")
    }

    @Test("What is left of every budget is told, in order")
    func budgetsLeft() async {
        let pace = pace(perSecond: 10)
        let later = Date().addingTimeInterval(60)
        _ = await call(pace, app: "b") { throw AppStoreServerError.made(.rateLimited, status: 429, retryAfter: later) }
        _ = await call(pace, app: "a") { true }
        let left = pace.budgetStatistics
        #expect(left.map(\.key.app) == ["a", "b"])
        #expect(left.map(\.key.callClass) == [.usual, .usual])
        #expect((8.9...10).contains(left.first?.statistics.tokens ?? 0))
        let closed = left.last?.statistics.closedFor?.inSeconds ?? 0
        #expect((50...60).contains(closed))
    }

    @Test("Apple's codes are labels, but not without end")
    func codes() {
        let metrics = AppStoreCallMetrics()
        #expect(metrics.label(of: nil) == AppStoreCallMetrics.none)
        #expect(metrics.label(of: .invalidTransactionId) == "4000006")
        for number in 0..<500 { _ = metrics.label(of: .init(rawValue: 5_000_000 + Int64(number))) }
        #expect(metrics.label(of: .init(rawValue: 1)) == AppStoreCallMetrics.other)
        #expect(metrics.label(of: .invalidTransactionId) == "4000006", "what came first keeps its label")
    }

    @Test("What Retry-After may say")
    func waits() {
        let now = Date(timeIntervalSince1970: 1_700_000_000)
        #expect(RateLimitStreak.wait(until: now.addingTimeInterval(1.2345), now: now) == Duration.milliseconds(1_235))
        #expect(RateLimitStreak.wait(until: nil, now: now) == nil)
        #expect(RateLimitStreak.wait(until: now, now: now) == nil)
        #expect(RateLimitStreak.wait(until: now.addingTimeInterval(-5), now: now) == nil)
        #expect(RateLimitStreak.wait(until: .distantFuture, now: now) == Duration.seconds(7_200))
    }

    @Test("A Retry-After that is past by our clock counts like none")
    func past() async {
        let pace = pace()
        let instant = Date().addingTimeInterval(-5)
        let limited = await call(pace) {
            throw AppStoreServerError.made(.rateLimited, status: 429, retryAfter: instant)
        }
        #expect(limited.seconds == 5)
        #expect(await call(pace, patience: .zero) { true }.name == "rateLimited")
    }

    @Test("Each 429 in a row that names no instant doubles the pause, and another answer ends the row")
    func row() {
        var streak = RateLimitStreak()
        let start = ContinuousClock.now
        var now = start
        var pauses: [Duration] = []
        for _ in 0..<6 {
            let pause = streak.pause(nil, sent: now, now: now)
            let underWay = streak.pause(nil, sent: now.advanced(by: .seconds(-1)), now: now)
            #expect(underWay == pause, "what went out before is of the same 429")
            #expect(!streak.isOver(byAnswerToCallSent: now))
            pauses.append(pause)
            now = now.advanced(by: pause)
        }
        #expect(pauses == [5, 10, 20, 40, 60, 60].map { Duration.seconds($0) })
        #expect(streak.isOver(byAnswerToCallSent: now))

        var named = RateLimitStreak()
        now = start
        for wait in [1, 1, 3_600, 1] {
            let pause = named.pause(Duration.seconds(wait), sent: now, now: now)
            #expect(pause == .seconds(wait), "players wait behind it")
            now = now.advanced(by: pause)
        }
    }

    @Test("The breaker opens at an outage, and whoever comes then is not let through")
    func outage() async {
        let pace = pace()
        for _ in 0..<20 { #expect(await call(pace) { throw Self.trouble }.name == "unavailable") }
        #expect(pace.isOut)
        let wasAsked = Mutex(false)
        let outcome = await call(pace) {
            wasAsked.withLock { $0 = true }
            return true
        }
        #expect(outcome.name == "unavailable")
        #expect(outcome.seconds ?? 0 > 0)
        #expect(!wasAsked.withLock { $0 })
    }

    @Test("The breaker stays closed when half of the answers are errors")
    func half() async {
        let pace = pace()
        for index in 0..<400 {
            _ = await call(pace) {
                if index % 2 == 0 { throw Self.trouble }
                return true
            }
        }
        #expect(!pace.isOut)
    }

    @Test(
        "An answer that refuses the request says that the host is there",
        arguments: [
            AppStoreServerError.made(.notFound, status: 404), .made(.unauthorized, status: 401),
            .made(.invalidRequest, status: 400), .made(.rateLimited, status: 429, retryAfter: .distantPast),
            .made(.invalidRequest, status: nil),
        ])
    func refusals(error: AppStoreServerError) async {
        let pace = pace()
        // Each app has a budget of its own, or a 429 would hold up the next call.
        for index in 0..<30 { _ = await call(pace, app: "\(index)") { throw error } }
        #expect(!pace.isOut)
    }

    @Test("Each host has a breaker of its own, and only the main one's outage is told")
    func hosts() async {
        let told = Mutex<[Bool]>([])
        let pace = pace(onOutage: { isOut in told.withLock { $0.append(isOut) } })
        let other = AppStoreHost(kind: .verifyReceipt, environment: .production)
        for _ in 0..<20 { _ = await call(pace, other) { throw Self.trouble } }
        #expect(pace.breaker(of: other).isOpen)
        #expect(!pace.isOut)
        #expect(told.withLock { $0 } == [])
        for _ in 0..<20 { _ = await call(pace) { throw Self.trouble } }
        #expect(told.withLock { $0 } == [true])
    }

    @Test("Sweeps and queued calls that always fail rest by themselves, and hold up no lookup")
    func background() async {
        let told = Mutex<[Bool]>([])
        let pace = pace(onOutage: { isOut in told.withLock { $0.append(isOut) } })
        for _ in 0..<20 { _ = await call(pace, use: .background) { throw Self.trouble } }
        #expect(await call(pace, use: .background) { true }.name == "unavailable")
        #expect(pace.breaker(of: .main, for: .background).isOpen)
        #expect(!pace.isOut)
        #expect(told.withLock { $0 } == [])
        #expect(await call(pace) { true }.name == "answer")
    }

    @Test("While the main host rests, it is asked what is nobody's: a call that always fails keeps no lookup waiting")
    func prober() async throws {
        let (changes, change) = AsyncStream<Bool>.makeStream()
        var settings = CircuitBreaker.Settings(samplesMinimum: 2)
        settings.probeDelay = .milliseconds(10)
        settings.probeDelayMaximum = .milliseconds(20)
        let probes = Mutex(0)
        let probe: AppStorePace.Probe = {
            let count = probes.withLock { probes in
                probes += 1
                return probes
            }
            // Two that fail, and one that is answered.
            guard count > 2 else { throw Self.trouble }
        }
        let pace = pace(breaker: settings, onOutage: { change.yield($0) }, probe: probe)
        let prober = OutageProber(pace: pace)
        let running = Task { try await prober.run() }
        let failures = Mutex(0)
        let failing: @Sendable () async throws -> Bool = {
            failures.withLock { $0 += 1 }
            throw Self.trouble
        }
        for _ in 0..<2 { _ = await call(pace) { try await failing() } }
        var told = changes.makeAsyncIterator()
        #expect(await told.next() == true)
        prober.wake()
        #expect(await told.next() == false)
        #expect(probes.withLock { $0 } == 3)
        #expect(failures.withLock { $0 } == 2, "nobody's call is repeated")
        #expect(await call(pace) { true }.name == "answer")
        let again = await call(pace) { try await failing() }
        #expect(again.name == "unavailable")
        #expect(await call(pace) { true }.name == "answer")
        running.cancel()
        try await running.value
    }

    @Test("The gate tells who comes late, and everybody in order")
    func gate() {
        let gate = LookupGate()
        let told = Mutex<[Bool]>([])
        gate.set(isClosed: true)
        #expect(gate.isClosed)
        gate.attach { isClosed in told.withLock { $0.append(isClosed) } }
        gate.set(isClosed: false)
        #expect(!gate.isClosed)
        #expect(told.withLock { $0 } == [true, false])
    }

    @Test("The sandbox has a tenth, verifyReceipt has not, and a share is a share")
    func rates() {
        let rates = AppStoreRates(perSecond: 50, share: 0.8)
        let limits = AppStoreHost.all.map { rates.limit(of: BudgetKey(app: "a", host: $0)).perSecond }
        #expect(limits == [40, 4, 40, 40])
        let orders = AppStoreHost.all.prefix(2).map {
            rates.limit(of: BudgetKey(app: "a", host: $0, callClass: .orders)).perSecond
        }
        #expect(orders == [8, 0.8])
        #expect(RateShare.share(of: 3, in: 12) == 0.25)
        // None yet: what comes first must not be put off for ever.
        #expect(RateShare.share(of: 0, in: 12) == 1.0 / 12)
        #expect(RateShare.share(of: 13, in: 12) == 1)
    }
}
