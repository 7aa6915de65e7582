import Testing

@testable import Fulfillment

@Suite("Back-off of unknown verdicts")
struct BackOffTests {
    private let backOff = BackOff(delayMaximum: .seconds(600))

    private func delay(_ retryAfter: Double, _ attempt: Int) -> Duration {
        var generator = SystemRandomNumberGenerator()
        return backOff.delay(retryAfterSeconds: retryAfter, attempt: attempt, using: &generator)
    }

    @Test func `it is never shorter than the verifier's word`() {
        for attempt in 0...40 { #expect(delay(30, attempt) >= .seconds(30)) }
    }

    @Test func `it doubles up to the maximum, whatever the attempt`() {
        for _ in 0..<100 {
            #expect(delay(10, 2) <= .seconds(40))
            #expect(delay(10, .max) <= .seconds(600))
            #expect(delay(10, .max) >= .seconds(300))
        }
    }

    @Test func `a word longer than the maximum is kept`() {
        #expect(delay(3600, 0) == .seconds(3600))
    }

    @Test func `nonsense becomes a second`() {
        #expect(delay(-5, -3) == .seconds(1))
    }
}
