import Testing

@testable import Kafka

struct ProducerHealthTests {
    private let start = ContinuousClock.now

    private func health() -> ProducerHealth {
        ProducerHealth(stallTime: .seconds(5), recoveryGrace: .seconds(2), now: start)
    }

    private func verdict(
        _ health: inout ProducerHealth, at now: ContinuousClock.Instant, since waiting: ContinuousClock.Instant?
    ) -> ProducerHealth.Verdict {
        health.verdict(at: now, waitingSince: waiting)
    }

    private func at(_ seconds: Double) -> ContinuousClock.Instant { start + .seconds(seconds) }

    @Test func idleOrWorkingClientIsHealthy() {
        var health = health()
        #expect(verdict(&health, at: at(1_000), since: nil) == .healthy)
        health.delivered(at: at(1_000))
        #expect(verdict(&health, at: at(1_004), since: at(900)) == .healthy)
    }

    @Test func stalledClientIsReplacedWhenTheBrokerAnswersForAWhile() {
        var health = health()
        #expect(verdict(&health, at: at(5), since: at(0)) == .probe)
        health.probed(isAnswered: true, at: at(5))
        #expect(verdict(&health, at: at(5.5), since: at(0)) == .healthy)
        #expect(verdict(&health, at: at(6), since: at(0)) == .probe)
        health.probed(isAnswered: true, at: at(6))
        #expect(verdict(&health, at: at(7), since: at(0)) == .replace)
    }

    @Test func brokerThatIsDownIsNoReason() {
        var health = health()
        for second in 10..<100 {
            health.timedOut()
            #expect(verdict(&health, at: at(Double(second)), since: at(0)) == .probe)
            health.probed(isAnswered: false, at: at(Double(second)))
        }
        // It answers again: the client gets its time to recover.
        health.probed(isAnswered: true, at: at(100))
        #expect(verdict(&health, at: at(101.5), since: at(0)) == .probe)
        health.delivered(at: at(101.6))
        #expect(verdict(&health, at: at(101.7), since: at(0)) == .healthy)
    }

    @Test func oldAnswersDoNotCountAgainstALaterStall() {
        var health = health()
        #expect(verdict(&health, at: at(5), since: at(0)) == .probe)
        health.probed(isAnswered: true, at: at(5))
        #expect(verdict(&health, at: at(6), since: nil) == .healthy)
        #expect(verdict(&health, at: at(100), since: at(90)) == .probe)
    }

    @Test func brokenClientIsReplacedAtOnce() {
        var health = health()
        health.broke()
        #expect(verdict(&health, at: at(0), since: nil) == .replace)
    }
}
