import Testing

@testable import CountersignClient

@Suite("How long the queue waits")
struct BackOffTests {
    private let backOff = BackOff(limits: QueueLimits())

    @Test("pauses double from one second to a quarter of an hour, with chance")
    func pauses() {
        for (number, whole) in [(1, 1.0), (2, 2), (3, 4), (10, 512), (11, 900), (1_000_000, 900)] {
            #expect(backOff.seconds(.backOff(number, atLeast: 0), chance: 1) == whole)
            #expect(backOff.seconds(.backOff(number, atLeast: 0), chance: 0) == whole / 2)
        }
    }

    @Test("what the server demands is kept in full, and not by all devices at the same instant")
    func retryAfter() {
        #expect(backOff.seconds(.backOff(1, atLeast: 60), chance: 0) == 60)
        #expect(backOff.seconds(.backOff(1, atLeast: 60), chance: 1) == 61)
        #expect(backOff.seconds(.backOff(20, atLeast: 60), chance: 1) == 900)
    }

    @Test("what is held is asked for after a quarter of an hour, later after six hours")
    func holds() {
        #expect(backOff.seconds(.hold(1), chance: 1) == 900)
        #expect(backOff.seconds(.hold(2), chance: 1) == 1_800)
        #expect(backOff.seconds(.hold(50), chance: 1) == 21_600)
        #expect(backOff.seconds(.hold(50), chance: 0) == 10_800)
    }
}
