import Foundation
import Testing

@testable import Notification

@Suite struct RetryScheduleTests {
    @Test func standardScheduleTakesTenAttemptsOverThreeDays() {
        let delays = (1...9).compactMap { RetrySchedule.standardWebhooks.delay(afterAttempts: $0, chance: 0) }
        #expect(delays.count == 9)
        #expect(delays.first == .seconds(5))
        #expect(delays.last == .seconds(86_400))
        // 5 s, 5 min and 30 min, then 75 h.
        #expect(delays.reduce(Duration.zero, +) == Duration.seconds(272_105))
        #expect(RetrySchedule.standardWebhooks.delay(afterAttempts: 10, chance: 0) == nil)
    }

    @Test func jitterIsATenthEitherWay() {
        // Whole seconds: a tenth has no exact binary fraction.
        let schedule = RetrySchedule(delays: [.seconds(100)])
        #expect(schedule.delay(afterAttempts: 1, chance: -1)?.components.seconds == 90)
        #expect(schedule.delay(afterAttempts: 1, chance: 1)?.components.seconds == 110)
    }

    @Test func whatIsHeldIsTriedAfterTheLastDelayAndNotMoreOftenThanEveryMinute() {
        #expect(RetrySchedule.standardWebhooks.outageDelay(chance: 0) == .seconds(86_400))
        for short in [[Duration.seconds(1)], []] {
            #expect(RetrySchedule(delays: short).outageDelay(chance: 0) == .seconds(60))
        }
        #expect(RetrySchedule(delays: [.seconds(100)]).outageDelay(chance: -1).components.seconds == 90)
    }

    @Test func scheduleIsReadFromSeconds() {
        #expect(RetrySchedule(secondsTexts: ["1", "2.5"])?.delays == [.seconds(1), .seconds(2.5)])
        for wrong in [["x"], ["-1"], ["1", ""], ["nan"], ["1e9"]] {
            #expect(RetrySchedule(secondsTexts: wrong) == nil)
        }
    }
}

@Suite struct RetryAfterTests {
    private let now = Date(timeIntervalSince1970: 784_111_777)

    @Test(arguments: [
        ("0", Duration.zero), ("120", .seconds(120)), (" 7 ", .seconds(7)), ("86401", .seconds(86_400)),
        ("99999999999999999999999", .seconds(86_400)),
        ("Sun, 06 Nov 1994 08:50:37 GMT", .seconds(60)), ("Sunday, 06-Nov-94 08:50:37 GMT", .seconds(60)),
        ("Sun Nov  6 08:50:37 1994", .seconds(60)), ("Sun, 06 Nov 1994 08:00:00 GMT", .zero),
        ("Sun, 06 Nov 2044 08:50:37 GMT", .seconds(86_400)),
    ])
    func bothFormsAreRead(value: String, delay: Duration) {
        #expect(RetryAfter.delay(value, now: now) == delay)
    }

    @Test(arguments: ["", "soon", "-5", "1.5", "Sun, 99 Nov 1994 08:50:37 GMT"])
    func anythingElseIsIgnored(value: String) {
        #expect(RetryAfter.delay(value, now: now) == nil)
    }
}
