import Testing

@testable import Notification

/// When what was put off falls due.
@Suite struct DueDatesTests {
    private let start = ContinuousClock.now

    @Test func earliestDateOfAnEndpointCounts() {
        var dates = DueDates()
        #expect(dates.first == nil)
        dates.putOff("a", until: start + .seconds(5))
        dates.putOff("a", until: start + .seconds(9))
        dates.putOff("b", until: start + .seconds(7))
        #expect(dates.first == start + .seconds(5))
        dates.putOff("b", until: start + .seconds(1))
        #expect(dates.first == start + .seconds(1))
    }

    @Test func ripeEndpointsAreTakenOnce() {
        var dates = DueDates()
        dates.putOff("a", until: start + .seconds(5))
        dates.putOff("b", until: start + .seconds(7))
        #expect(dates.takeRipe(now: start).isEmpty)
        #expect(dates.takeRipe(now: start + .seconds(5)) == ["a"])
        #expect(dates.takeRipe(now: start + .seconds(5)).isEmpty)
        #expect(dates.first == start + .seconds(7))
    }

    @Test func endpointsThatAreGoneAreForgotten() {
        var dates = DueDates()
        dates.putOff("a", until: start + .seconds(5))
        dates.putOff("b", until: start + .seconds(7))
        dates.keep(["b"])
        #expect(dates.first == start + .seconds(7))
    }
}
