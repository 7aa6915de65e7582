import ChanceTesting
import Testing

@testable import Pacing

@Suite("What failed of late")
struct FailureWindowTests {
    private let start = ContinuousClock.now

    @Test("what is older than the window does not count")
    func leaving() {
        var window = FailureWindow(length: .seconds(10), now: start)
        window.add(isFailure: true, now: start)
        window.add(isFailure: false, now: start + .seconds(5))
        #expect(window.counts(start + .milliseconds(9_999)) == (2, 1))
        #expect(window.counts(start + .seconds(10)) == (1, 0))
        #expect(window.counts(start + .milliseconds(14_999)) == (1, 0))
        #expect(window.counts(start + .seconds(15)) == (0, 0))
    }

    @Test("a slot that comes round again begins anew")
    func round() {
        var window = FailureWindow(length: .seconds(10), now: start)
        for _ in 0..<5 { window.add(isFailure: true, now: start) }
        window.add(isFailure: false, now: start + .seconds(10))
        #expect(window.counts(start + .seconds(10)) == (1, 0))
        window.add(isFailure: true, now: start + .seconds(86_400))
        #expect(window.counts(start + .seconds(86_400)) == (1, 1))
        window.clear()
        #expect(window.counts(start + .seconds(86_400)) == (0, 0))
    }

    @Test("it counts what a list of everything counts, to the slot", arguments: UInt64(1)...10)
    func model(seed: UInt64) {
        var generator = SplitMix(seed: seed)
        var window = FailureWindow(length: .seconds(10), now: start)
        var list: [(at: Duration, isFailure: Bool)] = []
        var now = Duration.zero
        for _ in 0..<2_000 {
            now += .milliseconds(Int.random(in: 0..<700, using: &generator))
            let isFailure = Bool.random(using: &generator)
            window.add(isFailure: isFailure, now: start + now)
            list.append((now, isFailure))
            let (samples, failures) = window.counts(start + now)
            let whole = list.filter { $0.at > now - .seconds(10) }
            let least = list.filter { $0.at > now - .milliseconds(9_500) }
            guard (least.count...whole.count).contains(samples),
                (least.filter(\.isFailure).count...whole.filter(\.isFailure).count).contains(failures)
            else {
                Issue.record("\(samples) samples and \(failures) failures at \(now)")
                return
            }
        }
        #expect(list.count == 2_000)
    }
}

@Suite("The breaker's decisions")
struct BreakerLedgerTests {
    private let start = ContinuousClock.now

    private func ledger(_ settings: CircuitBreaker.Settings = .init()) -> BreakerLedger {
        BreakerLedger(settings: settings, now: start)
    }

    private func fail(
        _ ledger: inout BreakerLedger, _ count: Int = 1, _ admission: CircuitBreaker.Admission? = nil,
        at time: Duration = .zero
    ) {
        var generator = SplitMix(seed: 7)
        for _ in 0..<count { ledger.failed(admission, now: start + time, using: &generator) }
    }

    private func opened() -> BreakerLedger {
        var ledger = ledger()
        fail(&ledger, 20)
        return ledger
    }

    // MARK: Opening

    @Test("it opens when all of the least number of requests failed, and not before")
    func opening() {
        var ledger = ledger()
        fail(&ledger, 19)
        #expect(!ledger.isOpen)
        #expect(ledger.nextProbe(start) == nil)
        #expect(ledger.admit(start) == .allowed)
        fail(&ledger)
        #expect(ledger.isOpen)
    }

    @Test("it opens at exactly nine failures of ten", arguments: [20, 30, 70, 130, 1_000])
    func share(count: Int) {
        for failures in [count * 9 / 10 - 1, count * 9 / 10] {
            var ledger = ledger(.init(samplesMinimum: count))
            for _ in failures..<count { ledger.succeeded(nil, now: start) }
            fail(&ledger, failures)
            #expect(ledger.isOpen == (failures == count * 9 / 10))
        }
    }

    @Test("it never opens while half of the requests fail", arguments: UInt64(1)...10)
    func half(seed: UInt64) {
        var generator = SplitMix(seed: seed)
        var ledger = ledger()
        for number in 0..<50_000 {
            let now = start + .milliseconds(number * 10)
            if Bool.random(using: &generator) {
                ledger.succeeded(nil, now: now)
            } else {
                ledger.failed(nil, now: now, using: &generator)
            }
            if ledger.isOpen { break }
        }
        #expect(!ledger.isOpen)
    }

    @Test("failures that are spread over more than the window do not open it")
    func spread() {
        var ledger = ledger()
        for number in 0..<200 { fail(&ledger, at: .milliseconds(600 * number)) }
        #expect(!ledger.isOpen)
    }

    @Test("successes of long ago do not keep it closed")
    func oldSuccesses() {
        var ledger = ledger()
        for _ in 0..<10_000 { ledger.succeeded(nil, now: start) }
        fail(&ledger, 19, at: .seconds(11))
        #expect(!ledger.isOpen)
        fail(&ledger, at: .seconds(11))
        #expect(ledger.isOpen)
    }

    // MARK: Probing

    @Test("open, it refuses with the time to the probe; then exactly one request is the probe")
    func probing() {
        var ledger = opened()
        #expect(ledger.admit(start) == .refused(retryAfter: .seconds(1)))
        #expect(ledger.admit(start + .milliseconds(999)) == .refused(retryAfter: .milliseconds(1)))
        #expect(ledger.nextProbe(start + .milliseconds(400)) == .milliseconds(600))
        #expect(ledger.nextProbe(start + .seconds(3)) == .zero)
        #expect(ledger.admit(start + .seconds(1)) == .probe)
        #expect(ledger.isOpen)
        // The others come when the next one would be due if this one fails.
        #expect(ledger.admit(start + .seconds(1)) == .refused(retryAfter: .seconds(2)))
        #expect(ledger.nextProbe(start + .seconds(2)) == .seconds(2))
    }

    @Test("a probe that succeeds closes it, and what failed before is forgotten")
    func success() {
        var ledger = opened()
        #expect(ledger.admit(start + .seconds(1)) == .probe)
        ledger.succeeded(.probe, now: start + .seconds(2))
        #expect(!ledger.isOpen)
        #expect(ledger.nextProbe(start + .seconds(2)) == nil)
        fail(&ledger, 19, at: .seconds(2))
        #expect(!ledger.isOpen)
    }

    @Test("each probe that fails doubles the delay, less a fifth at most, up to the maximum; a new opening begins anew")
    func doubling() throws {
        var ledger = opened()
        var now = Duration.seconds(1)
        for expected in [2, 4, 8, 16, 30, 30, 30] {
            try #require(ledger.admit(start + now) == .probe)
            fail(&ledger, 1, .probe, at: now)
            let delay = try #require(ledger.nextProbe(start + now))
            #expect(delay <= .seconds(expected) && delay > .seconds(expected) * 0.8)
            #expect(ledger.admit(start + now + delay - .nanoseconds(1)) == .refused(retryAfter: .nanoseconds(1)))
            now += delay
        }
        try #require(ledger.admit(start + now) == .probe)
        ledger.succeeded(nil, now: start + now)
        fail(&ledger, 20, at: now)
        #expect(ledger.nextProbe(start + now) == .seconds(1))
    }

    @Test("delays differ from one process to the next")
    func jitter() {
        var generator = SplitMix(seed: 1)
        let delays = (0..<20).map { _ in
            var ledger = opened()
            _ = ledger.admit(start + .seconds(1))
            ledger.failed(.probe, now: start + .seconds(1), using: &generator)
            return ledger.nextProbe(start + .seconds(1))
        }
        #expect(Set(delays).count > 15)
    }

    @Test("a probe that is abandoned frees its place at once, without doubling anything")
    func abandoned() {
        for admission in [nil, CircuitBreaker.Admission.probe] {
            var ledger = opened()
            #expect(ledger.admit(start + .seconds(1)) == .probe)
            ledger.abandoned(admission, now: start + .milliseconds(1_200))
            #expect(ledger.nextProbe(start + .milliseconds(1_200)) == .zero)
            #expect(ledger.admit(start + .milliseconds(1_200)) == .probe)
            #expect(ledger.admit(start + .milliseconds(1_200)) == .refused(retryAfter: .seconds(2)))
        }
    }

    @Test("a probe that never reports is given up in the end, and the next request is one")
    func lostProbe() {
        var ledger = opened()
        let time = CircuitBreaker.Settings().probeTimeout
        #expect(ledger.admit(start + .seconds(1)) == .probe)
        #expect(
            ledger.admit(start + .seconds(1) + time - .milliseconds(1)) == .refused(retryAfter: .milliseconds(1)))
        #expect(ledger.admit(start + .seconds(1) + time) == .probe)
        // The first one comes back after all: the host is there.
        ledger.succeeded(.probe, now: start + .seconds(2) + time)
        #expect(!ledger.isOpen)
    }

    // MARK: Requests of before

    @Test("requests that were out when it opened change nothing while it is open")
    func stragglers() {
        var ledger = opened()
        fail(&ledger, 100, at: .milliseconds(500))
        ledger.succeeded(nil, now: start + .milliseconds(500))
        ledger.abandoned(nil, now: start + .milliseconds(500))
        #expect(ledger.nextProbe(start + .milliseconds(500)) == .milliseconds(500))
    }

    @Test("while a probe is out, requests that are known not to be it change nothing")
    func stragglersWhileProbing() {
        var ledger = opened()
        #expect(ledger.admit(start + .seconds(1)) == .probe)
        fail(&ledger, 100, .allowed, at: .seconds(2))
        ledger.succeeded(.allowed, now: start + .seconds(2))
        ledger.abandoned(.allowed, now: start + .seconds(2))
        #expect(ledger.admit(start + .seconds(2)) == .refused(retryAfter: .seconds(2)))
        ledger.succeeded(.probe, now: start + .seconds(2))
        #expect(!ledger.isOpen)
    }

    @Test("many failures at once are one failed probe")
    func oneFailure() throws {
        var ledger = opened()
        #expect(ledger.admit(start + .seconds(1)) == .probe)
        fail(&ledger, 500, at: .seconds(1))
        let delay = try #require(ledger.nextProbe(start + .seconds(1)))
        #expect(delay > .milliseconds(1_600) && delay <= .seconds(2))
    }

    @Test("settings that make no sense do no harm")
    func oddSettings() {
        let odd: [CircuitBreaker.Settings] = [
            .init(samplesMinimum: 0, failureShare: -1, window: .zero, probeDelay: .zero, probeDelayMaximum: .zero),
            .init(samplesMinimum: -5, failureShare: .nan, window: .seconds(-1), probeDelay: .seconds(-1)),
            .init(failureShare: 2, window: .seconds(Int64.max), probeDelay: .seconds(Int64.max), probeTimeout: .zero),
            .init(samplesMinimum: 1, failureShare: 0, probeDelay: .seconds(60), probeDelayMaximum: .seconds(1)),
        ]
        for settings in odd {
            var ledger = ledger(settings)
            for second in 0..<100 {
                _ = ledger.admit(start + .seconds(second))
                fail(&ledger, 30, at: .seconds(second))
                #expect((ledger.nextProbe(start + .seconds(second)) != nil) == ledger.isOpen)
            }
        }
    }
}
