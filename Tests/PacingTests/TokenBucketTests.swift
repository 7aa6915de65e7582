import Testing

@testable import Pacing

@Suite("The bucket")
struct TokenBucketTests {
    private let start = ContinuousClock.now

    private func bucket(_ perSecond: Double, burst: Double, share: Double = 1) -> TokenBucket {
        TokenBucket(limit: .init(perSecond: perSecond, burst: burst), share: share, now: start)
    }

    /// Takes what is there, and says how many there were.
    private func takeAll(_ bucket: inout TokenBucket, at now: ContinuousClock.Instant) -> Int {
        var count = 0
        while bucket.isReady(now), count < 10_000 {
            bucket.take(now)
            count += 1
        }
        return count
    }

    @Test(
        "it starts with one second's worth, never more than it holds, and never with nothing",
        arguments: [(50.0, 500.0, 50), (50, 10, 10), (0.1, 5, 1), (1, 1, 1), (2.5, 10, 2)])
    func beginning(perSecond: Double, burst: Double, tokens: Int) {
        var bucket = bucket(perSecond, burst: burst)
        #expect(takeAll(&bucket, at: start) == tokens)
    }

    @Test("tokens come one by one, each at its instant")
    func refill() {
        var bucket = bucket(50, burst: 50)
        #expect(takeAll(&bucket, at: start) == 50)
        for number in 1...200 {
            let instant = start + .milliseconds(20 * number)
            #expect(bucket.turn(1) == instant)
            #expect(!bucket.isReady(instant - .nanoseconds(100)))
            #expect(takeAll(&bucket, at: instant) == 1)
        }
    }

    @Test("it does not hold more than the burst, however long it rests")
    func capacity() {
        var bucket = bucket(50, burst: 80)
        #expect(takeAll(&bucket, at: start + .seconds(86_400)) == 80)
    }

    @Test("a turn is when a token comes for that place, at any rate", arguments: [0.1, 1.0 / 3, 7, 12.8, 50, 3_333])
    func turns(perSecond: Double) throws {
        var bucket = bucket(perSecond, burst: 1)
        #expect(takeAll(&bucket, at: start) == 1)
        for position in [1, 2, 3, 10, 999] {
            var copy = bucket
            var now = start
            for _ in 0..<position {
                now = try #require(copy.turn(1))
                try #require(copy.isReady(now))
                copy.take(now)
            }
            let turn = try #require(bucket.turn(position))
            #expect(abs(turn.duration(to: now).inSeconds) < 1e-6)
        }
    }

    @Test("closed, it gives nothing until the millisecond, then one, then one at a time")
    func closing() {
        var bucket = bucket(50, burst: 100)
        bucket.close(for: .milliseconds(1_234), now: start)
        let end = start + .milliseconds(1_234)
        #expect(bucket.closedUntil(start) == end)
        #expect(bucket.turn(1) == end)
        #expect(!bucket.isReady(end - .nanoseconds(1)))
        #expect(bucket.closedUntil(end) == nil)
        #expect(takeAll(&bucket, at: end) == 1)
        #expect(bucket.turn(1) == end + .milliseconds(20))
        #expect(takeAll(&bucket, at: end + .seconds(1)) == 50)
    }

    @Test("of two closures the longer one holds, in whichever order they come")
    func closures() {
        for durations in [[3, 1], [1, 3]] {
            var bucket = bucket(50, burst: 50)
            for seconds in durations { bucket.close(for: .seconds(seconds), now: start) }
            #expect(!bucket.isReady(start + .milliseconds(2_999)))
            #expect(bucket.isReady(start + .seconds(3)))
        }
    }

    @Test("a closure of nothing closes nothing, and one without end ends after a day")
    func oddClosures() {
        var bucket = bucket(50, burst: 50)
        bucket.close(for: .zero, now: start)
        bucket.close(for: .seconds(-5), now: start)
        #expect(takeAll(&bucket, at: start) == 50)
        bucket.close(for: .seconds(Int64.max), now: start)
        #expect(bucket.closedUntil(start) == start + TokenBucket.Limit.closureMaximum)
    }

    @Test("tokens shrink with the share, but do not grow with it")
    func shares() {
        var less = bucket(40, burst: 40)
        less.setShare(0.25, now: start)
        #expect(takeAll(&less, at: start) == 10)
        var more = bucket(40, burst: 40)
        for share in [0.25, 1, 0.25, 1] { more.setShare(share, now: start) }
        #expect(more.count(start) == 2.5)
        #expect(takeAll(&more, at: start + .milliseconds(100)) == 6)
    }

    @Test("a small share of a small limit still admits one at a time")
    func smallShare() {
        var bucket = bucket(1, burst: 1, share: 0.1)
        #expect(takeAll(&bucket, at: start) == 1)
        #expect(takeAll(&bucket, at: start + .milliseconds(9_999)) == 0)
        #expect(takeAll(&bucket, at: start + .seconds(10)) == 1)
    }

    @Test("without a share there is nothing, and nothing comes; what was there is there again with the share")
    func noShare() {
        var bucket = bucket(50, burst: 50)
        bucket.setShare(0, now: start)
        let later = start + .seconds(60)
        #expect(!bucket.isReady(later))
        #expect(bucket.turn(1) == nil)
        #expect(bucket.interval == nil)
        bucket.setShare(1, now: later)
        #expect(takeAll(&bucket, at: later) == 50)
        #expect(takeAll(&bucket, at: later + .milliseconds(20)) == 1)
    }

    @Test(
        "shares and limits that are no numbers admit nothing, too great ones are bounded, and nothing crashes",
        arguments: [Double.nan, -.infinity, -1, 0, .leastNonzeroMagnitude, 1e-300, .greatestFiniteMagnitude, .infinity])
    func oddNumbers(number: Double) {
        for limit in [(number, 10), (10, number), (number, number)] {
            for share in [number, 0.5] {
                var bucket = bucket(limit.0, burst: limit.1, share: share)
                for second in 0..<5 {
                    let now = start + .seconds(second)
                    let count = takeAll(&bucket, at: now)
                    if !(limit.0 > 1e-6) || !(share > 1e-6) { #expect(count == 0) }
                    _ = bucket.turn(1_000_000)
                    bucket.close(for: .milliseconds(300), now: now)
                    bucket.setShare(number, now: now + .milliseconds(10))
                    bucket.setShare(share, now: now + .milliseconds(10))
                    bucket.giveBack(now + .milliseconds(20))
                    #expect(bucket.count(now + .seconds(1)).isFinite)
                }
            }
        }
    }

    @Test("a token that is given back can be taken again, and the bucket does not overflow")
    func givenBack() {
        var bucket = bucket(10, burst: 3)
        bucket.take(start)
        bucket.giveBack(start)
        bucket.giveBack(start)
        #expect(takeAll(&bucket, at: start) == 3)
    }
}
