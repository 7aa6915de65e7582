import Testing

@testable import Kafka

struct ProducerLoadTests {
    private let start = ContinuousClock.now

    /// How many of so many sends came when there was little before them.
    private func quiet(of sends: Int, messages: Int, every gap: Duration) -> Int {
        var load = ProducerLoad()
        return (0..<sends).count { load.isQuiet(sending: messages, at: start + gap * $0) }
    }

    @Test func onePurchaseAfterTheOtherIsQuiet() {
        #expect(quiet(of: 1_000, messages: 1, every: .milliseconds(8)) == 1_000)
        // Fulfillment sends an event and an outcome.
        #expect(quiet(of: 1_000, messages: 2, every: .milliseconds(10)) == 1_000)
    }

    @Test func hundredsInASecondAreNot() {
        #expect(quiet(of: 1_000, messages: 1, every: .milliseconds(2)) < 30)
        #expect(quiet(of: 1_000, messages: 20, every: .milliseconds(20)) == 1)
    }

    @Test func itIsQuietAgainAfterALoad() {
        var load = ProducerLoad()
        let answers = [(500, 0), (1, 100), (1, 400)].map { count, milliseconds in
            load.isQuiet(sending: count, at: start + .milliseconds(milliseconds))
        }
        #expect(answers == [true, false, true])
    }

    @Test func aClockThatGoesBackIsNoError() {
        var load = ProducerLoad()
        let answers = [(20, 0), (1, -1)].map { count, seconds in
            load.isQuiet(sending: count, at: start + .seconds(seconds))
        }
        #expect(answers == [true, false])
    }
}
