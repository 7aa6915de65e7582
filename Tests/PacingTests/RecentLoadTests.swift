import Pacing
import Testing

@Suite("How much came lately")
struct RecentLoadTests {
    private let start = ContinuousClock.now

    private func last(of times: Int, counting count: Int, every gap: Duration) -> Double {
        var load = RecentLoad()
        return (0..<times).map { load.note(count, at: start + gap * $0) }.last ?? -1
    }

    @Test("is a twentieth of what comes in a second, after each but before the next")
    func rates() {
        #expect((5.0...6.0).contains(last(of: 1_000, counting: 1, every: .milliseconds(9))))
        #expect((24.0...25.0).contains(last(of: 1_000, counting: 1, every: .milliseconds(2))))
        #expect((40.0...41.0).contains(last(of: 1_000, counting: 20, every: .milliseconds(20))))
    }

    @Test("fades, and a clock that goes back changes nothing")
    func fades() {
        var load = RecentLoad()
        #expect(load.note(500, at: start) == 0)
        #expect(load.note(0, at: start - .seconds(1)) == 500)
        #expect((180.0...190.0).contains(load.note(1, at: start - .milliseconds(950))))
        #expect(load.note(1, at: start) < 0.1)
    }
}
