import PurchaseModel
import Testing

@testable import Fulfillment

@Suite("Back-off of unknown verdicts")
struct BackOffTests {
    private let backOff = BackOff(delayMaximum: .seconds(600))
    private let doubling = ReasonCode(rawValue: "revocation_unknown")

    /// One number for ever: 1 draws the least of a range, the greatest number the most; 0 would be drawn again for ever.
    private struct Fixed: RandomNumberGenerator {
        let number: UInt64

        mutating func next() -> UInt64 { number }
    }

    private func delay(_ reason: ReasonCode, _ retryAfter: Double, _ attempt: Int, chance: UInt64) -> Duration {
        var generator = Fixed(number: chance)
        return backOff.delay(for: reason, retryAfterSeconds: retryAfter, attempt: attempt, using: &generator)
    }

    private func range(_ reason: ReasonCode, _ retryAfter: Double, _ attempt: Int) -> ClosedRange<Duration> {
        delay(reason, retryAfter, attempt, chance: 1)...delay(reason, retryAfter, attempt, chance: .max)
    }

    @Test func `it is never shorter than the verifier's word, whatever chance says`() {
        for reason in [doubling, .rateLimited, .appStoreUnavailable] {
            for attempt in 0...40 {
                for word in [1, 1.0004, 29.9996, 30, 3600] {
                    #expect(delay(reason, word, attempt, chance: 1) >= .seconds(word))
                    #expect(delay(reason, word, attempt, chance: .max) >= .seconds(word))
                }
            }
        }
    }

    @Test func `it doubles up to the maximum, whatever the attempt`() {
        #expect(range(doubling, 10, 2) == .seconds(20)...(.seconds(40)))
        #expect(range(doubling, 10, .max) == .seconds(300)...(.seconds(600)))
    }

    @Test func `what Apple paces does not double`() {
        for reason in [ReasonCode.rateLimited, .appStoreUnavailable] {
            for attempt in [0, 1, 7, .max] {
                #expect(range(reason, 2, attempt) == .seconds(2)...(.seconds(3)), "a second of chance at least")
                #expect(range(reason, 100, attempt) == .seconds(100)...(.seconds(120)), "a fifth of it where more")
            }
        }
    }

    @Test func `chance spreads what was put off together`() {
        var generator = SystemRandomNumberGenerator()
        for reason in [doubling, .rateLimited] {
            let delays = (0..<200).map { _ in
                backOff.delay(for: reason, retryAfterSeconds: 60, attempt: 1, using: &generator)
            }
            #expect(Set(delays).count > 100)
        }
    }

    @Test func `a word longer than the maximum is kept`() {
        #expect(range(doubling, 3600, 0) == .seconds(3600)...(.seconds(3600)))
        #expect(delay(.rateLimited, 3600, 9, chance: 1) == .seconds(3600))
    }

    @Test func `nonsense becomes a second, and a word without end a week`() {
        for nonsense: Double in [-5, 0, .nan, -.infinity] {
            #expect(delay(doubling, nonsense, -3, chance: .max) == .seconds(1))
            #expect(delay(.rateLimited, nonsense, .min, chance: 1) == .seconds(1))
        }
        for endless: Double in [.infinity, 1e300] {
            #expect(delay(doubling, endless, 30, chance: .max) == .seconds(604_800))
            #expect(delay(.appStoreUnavailable, endless, 0, chance: 1) == .seconds(604_800))
        }
    }
}
