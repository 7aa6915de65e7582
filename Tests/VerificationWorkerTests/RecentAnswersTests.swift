import Synchronization
import Testing

@testable import VerificationWorker

@Suite("Answers that were given a short while ago")
struct RecentAnswersTests {
    private final class Clock: Sendable {
        let instant = Mutex(ContinuousClock.now)

        func advance(_ duration: Duration) {
            instant.withLock { $0 += duration }
        }
    }

    private func answers(_ maximum: Int) -> (RecentAnswers<Int, String>, Clock) {
        let clock = Clock()
        let answers = RecentAnswers<Int, String>(maximum: maximum, lifetime: .seconds(10)) {
            clock.instant.withLock { $0 }
        }
        return (answers, clock)
    }

    @Test("An answer is kept for its time, and not longer")
    func lifetime() {
        let (answers, clock) = answers(100)
        answers.keep("a", of: 1)
        clock.advance(.seconds(9))
        #expect(answers.value(of: 1) == "a")
        #expect(answers.value(of: 2) == nil)
        answers.keep("b", of: 1)
        clock.advance(.seconds(9))
        #expect(answers.value(of: 1) == "b")
        clock.advance(.seconds(1))
        #expect(answers.value(of: 1) == nil)
    }

    @Test("There is a bound, beyond which the oldest is forgotten; what is kept anew counts once")
    func bound() {
        let (answers, clock) = answers(10)
        for number in 0..<1_000 {
            answers.keep("\(number)", of: number)
            answers.keep("\(number)", of: number)
            clock.advance(.milliseconds(1))
        }
        #expect(answers.count == 10)
        for number in 990..<1_000 { #expect(answers.value(of: number) == "\(number)") }
        #expect(answers.value(of: 989) == nil)
    }

    @Test("What is out of date is forgotten with the next answer, not when somebody asks")
    func forgotten() {
        let (answers, clock) = answers(1_000)
        for number in 0..<500 { answers.keep("x", of: number) }
        clock.advance(.seconds(11))
        answers.keep("y", of: 1)
        #expect(answers.count == 1)
    }
}
