import Persistence
import Testing

@testable import Notification

@Suite struct DeliveryVerdictTests {
    private let schedule = RetrySchedule(delays: [.seconds(5), .seconds(300)])

    private func verdict(_ answer: EndpointAnswer, attempts: Int = 1, waitsForEndpoint: Bool = false) -> DeliveryVerdict
    {
        DeliveryVerdict(answer, attempts: attempts, waitsForEndpoint: waitsForEndpoint, schedule: schedule, chance: 0)
    }

    private func text(_ verdict: DeliveryVerdict) -> String {
        switch verdict.result {
        case .delivered(let status): "delivered \(status)"
        case .retry(let status, let error, let after):
            "retry \(status ?? 0) after \(after.components.seconds): \(error)"
        case .exhausted(let status, let error, let outageDelay, let anew):
            "exhausted \(status ?? 0), held for \(outageDelay.components.seconds), "
                + "anew after \(anew.map { "\($0.components.seconds)" } ?? "nothing"): \(error)"
        }
    }

    @Test(arguments: [200, 201, 204, 299])
    func any2xxIsSuccess(status: Int) {
        let verdict = verdict(.answered(status: status, excerpt: "", retryAfter: nil))
        #expect(text(verdict) == "delivered \(status)")
        #expect(verdict.isSuccess)
    }

    @Test(arguments: [301, 302, 307, 308])
    func redirectIsFailure(status: Int) {
        let verdict = verdict(.answered(status: status, excerpt: "moved", retryAfter: nil))
        #expect(text(verdict) == "retry \(status) after 5: status \(status): redirects are not followed")
    }

    @Test func failuresFollowTheScheduleAndEnd() {
        let answer = EndpointAnswer.answered(status: 500, excerpt: "oops", retryAfter: .seconds(9))
        #expect(text(verdict(answer, attempts: 1)) == "retry 500 after 5: status 500: oops")
        #expect(text(verdict(answer, attempts: 2)) == "retry 500 after 300: status 500: oops")
        #expect(
            text(verdict(answer, attempts: 3))
                == "exhausted 500, held for 300, anew after nothing: status 500: oops")
        #expect(text(verdict(.failed("no answer"), attempts: 1)) == "retry 0 after 5: no answer")
        #expect(
            text(verdict(.failed("no answer"), attempts: 3))
                == "exhausted 0, held for 300, anew after nothing: no answer")
    }

    @Test func whatWasHeldBeginsItsScheduleAnew() {
        let answer = EndpointAnswer.answered(status: 503, excerpt: "", retryAfter: .seconds(9))
        #expect(
            text(verdict(answer, attempts: 1, waitsForEndpoint: true))
                == "exhausted 503, held for 300, anew after 9: status 503")
        #expect(
            text(verdict(.failed("no answer"), attempts: 1, waitsForEndpoint: true))
                == "exhausted 0, held for 300, anew after 5: no answer")
        #expect(text(verdict(answer, attempts: 2)) == "retry 503 after 300: status 503")
    }

    @Test(arguments: [429, 503])
    func retryAfterPutsOffAndPausesBriefly(status: Int) {
        let long = verdict(.answered(status: status, excerpt: "", retryAfter: .seconds(600)))
        #expect(text(long) == "retry \(status) after 600: status \(status)")
        #expect(long.pause == DeliveryVerdict.pauseMaximum)
        let short = verdict(.answered(status: status, excerpt: "", retryAfter: .seconds(1)))
        #expect(text(short) == "retry \(status) after 5: status \(status)")
        #expect(short.pause == .seconds(1))
    }

    @Test func goneSwitchesOffAndKeepsTheDelivery() {
        let verdict = verdict(.answered(status: 410, excerpt: "", retryAfter: nil), attempts: 3)
        #expect(text(verdict) == "retry 410 after 300: status 410")
        #expect(verdict.disableReason == "it answered 410 Gone")
    }

    @Test func excerptIsShortAndClean() {
        #expect(AnswerText.excerpt("a\u{0}b\r\nc\u{1B}") == "a b  c")
        // What would make a terminal show the text backwards.
        #expect(AnswerText.excerpt("a\u{202E}b") == "a b")
        #expect(AnswerText.excerpt(String(repeating: "é", count: 2_000)).utf8.count == 2_048)
        // A cut within a character, whose replacement is longer than what is left of it.
        let cut = AnswerText.excerpt(Array("x".utf8) + Array(String(repeating: "é", count: 2_000).utf8))
        #expect(cut.utf8.count <= 2_048)
        guard
            case .retry(_, let error, _) = verdict(
                .answered(status: 500, excerpt: String(repeating: "é", count: 1_000), retryAfter: nil)
            ).result
        else { return #expect(Bool(false), "it is tried again") }
        #expect(error == "status 500: " + String(repeating: "é", count: 256))
    }
}
