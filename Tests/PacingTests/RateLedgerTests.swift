import Testing

@testable import Pacing

@Suite("The budget's decisions")
struct RateLedgerTests {
    private typealias Outcome = RateLedger.Outcome

    private let start = ContinuousClock.now

    /// Ten a second, and the ten tokens of the beginning taken.
    private func emptied(waitersMaximum: Int = 100, perSecond: Double = 10, burst: Double = 10) -> RateLedger {
        var ledger = RateLedger(
            limit: .init(perSecond: perSecond, burst: burst), waitersMaximum: waitersMaximum, now: start)
        while ledger.tokens(start) >= 1 { _ = ledger.request(0, .player, patience: .zero, now: start) }
        return ledger
    }

    private func admitted(_ ticket: UInt64) -> Outcome {
        Outcome(ticket: ticket, admission: .admitted)
    }

    private func refused(_ ticket: UInt64, _ retryAfter: Duration) -> Outcome {
        Outcome(ticket: ticket, admission: .refused(retryAfter: retryAfter))
    }

    /// Lets everything happen until `duration` after the start, each thing at its time.
    private func play(_ ledger: inout RateLedger, until duration: Duration) -> [(at: Duration, outcome: Outcome)] {
        var played: [(at: Duration, outcome: Outcome)] = []
        while let next = ledger.nextEvent, next <= start + duration {
            let outcomes = ledger.advance(to: next)
            guard !outcomes.isEmpty || ledger.nextEvent.map({ $0 > next }) ?? true else {
                Issue.record("the ledger asks to be called again and again")
                break
            }
            played += outcomes.map { (start.duration(to: next), $0) }
        }
        return played
    }

    // MARK: Turns

    @Test("while there are tokens nobody waits")
    func atOnce() {
        var ledger = RateLedger(limit: .init(perSecond: 10, burst: 10), waitersMaximum: 100, now: start)
        for ticket in UInt64(1)...10 {
            let priority = Priority.allCases[Int(ticket) % 3]
            #expect(ledger.request(ticket, priority, patience: .zero, now: start) == [admitted(ticket)])
        }
        #expect(ledger.request(11, .player, patience: .zero, now: start) == [refused(11, .milliseconds(100))])
        #expect(ledger.nextEvent == nil)
    }

    @Test("within a priority, who came first goes first, a token's time apart")
    func inOrder() {
        var ledger = emptied()
        for ticket in UInt64(1)...5 {
            #expect(ledger.request(ticket, .sweep, patience: .seconds(1), now: start).isEmpty)
        }
        let played = play(&ledger, until: .seconds(10))
        #expect(played.map(\.outcome) == (1...5).map { admitted($0) })
        #expect(played.map(\.at) == (1...5).map { .milliseconds(100 * $0) })
    }

    @Test("who asks a hundred times waits behind who asks once, and before nobody of a higher priority")
    func fair() {
        var ledger = emptied()
        for ticket in UInt64(1)...50 {
            #expect(
                ledger.request(ticket, .player, asker: "flood", patience: .seconds(30), now: start).isEmpty)
        }
        #expect(
            ledger.request(51, .player, asker: "once", patience: .milliseconds(299), now: start)
                == [refused(51, .milliseconds(300))])
        #expect(ledger.request(52, .player, asker: "once", patience: .milliseconds(300), now: start).isEmpty)
        #expect(ledger.request(53, .deadline, asker: "late", patience: .milliseconds(5_199), now: start).count == 1)
        let played = play(&ledger, until: .milliseconds(300))
        #expect(played.map(\.outcome) == [admitted(1), admitted(2), admitted(52)])
        #expect(play(&ledger, until: .seconds(30)).count == 48, "and all the others get theirs")
    }

    @Test("where too many wait, one who asks once takes the place of the last of who asks often")
    func fairWhenFull() {
        var ledger = emptied(waitersMaximum: 4)
        for ticket in UInt64(1)...4 {
            _ = ledger.request(ticket, .player, asker: "flood", patience: .seconds(5), now: start)
        }
        #expect(
            ledger.request(5, .player, asker: "flood", patience: .seconds(5), now: start).map(\.ticket) == [5])
        #expect(
            ledger.request(6, .player, asker: "once", patience: .seconds(5), now: start).map(\.ticket) == [4])
        #expect(play(&ledger, until: .seconds(5)).map(\.outcome) == [1, 2, 6, 3].map { admitted($0) })
    }

    @Test("who is refused a hundred times pushes out its own times, and those of others once")
    func fairAppointments() {
        var ledger = emptied()
        for ticket in UInt64(1)...100 {
            let after = Duration.milliseconds(100 * Int(ticket))
            #expect(
                ledger.request(ticket, .player, asker: "flood", patience: .zero, now: start)
                    == [refused(ticket, after)])
        }
        #expect(
            ledger.request(101, .player, asker: "one", patience: .zero, now: start)
                == [refused(101, .milliseconds(200))])
        #expect(
            ledger.request(102, .player, asker: "two", patience: .zero, now: start)
                == [refused(102, .milliseconds(300))])
    }

    @Test("players go before deadlines, and those before sweeps")
    func priorities() {
        var ledger = emptied()
        let requests: [(UInt64, Priority)] = [(1, .sweep), (2, .deadline), (3, .player), (4, .sweep), (5, .player)]
        for (ticket, priority) in requests {
            #expect(ledger.request(ticket, priority, patience: .seconds(5), now: start).isEmpty)
        }
        #expect(ledger.waiting == 5)
        #expect(Priority.allCases.map { ledger.waiting($0) } == [2, 1, 2])
        #expect(play(&ledger, until: .seconds(5)).map(\.outcome.ticket) == [3, 5, 2, 1, 4])
        #expect(ledger.nextEvent == nil)
    }

    @Test("a token that came before somebody asked belongs to who waited for it")
    func timeOrder() {
        var ledger = emptied()
        #expect(ledger.request(1, .sweep, patience: .seconds(1), now: start).isEmpty)
        // Nobody called at 100 ms.
        let outcomes = ledger.request(2, .player, patience: .zero, now: start + .milliseconds(150))
        #expect(outcomes == [admitted(1), refused(2, .milliseconds(50))])
    }

    // MARK: Patience

    @Test("who cannot have its turn in time is refused at once, and told when it could")
    func hopeless() {
        var ledger = emptied()
        for ticket in UInt64(1)...5 { _ = ledger.request(ticket, .deadline, patience: .seconds(5), now: start) }
        // A sweep comes after the five, a player before them.
        #expect(
            ledger.request(6, .sweep, patience: .milliseconds(599), now: start) == [refused(6, .milliseconds(600))])
        #expect(ledger.request(7, .sweep, patience: .milliseconds(600), now: start).isEmpty)
        #expect(
            ledger.request(8, .player, patience: .milliseconds(99), now: start) == [refused(8, .milliseconds(100))])
        #expect(ledger.request(9, .player, patience: .milliseconds(100), now: start).isEmpty)
    }

    @Test("who is pushed back by players is refused when its patience ends, not before")
    func pushedBack() {
        var ledger = emptied()
        #expect(ledger.request(1, .sweep, patience: .milliseconds(250), now: start).isEmpty)
        for ticket in UInt64(2)...5 {
            #expect(ledger.request(ticket, .player, patience: .seconds(1), now: start).isEmpty)
        }
        let played = play(&ledger, until: .seconds(1))
        #expect(played.map(\.outcome.ticket) == [2, 3, 1, 4, 5])
        #expect(played.map(\.at) == [100, 200, 250, 300, 400].map { .milliseconds($0) })
        #expect(played[2].outcome == refused(1, .milliseconds(250)))
    }

    @Test("a timer that rings late makes nobody late whose token was there in time")
    func lateTimer() {
        var ledger = emptied()
        for ticket in UInt64(1)...3 {
            let patience = Duration.milliseconds(100 * Int(ticket))
            #expect(ledger.request(ticket, .player, patience: patience, now: start).isEmpty)
        }
        #expect(ledger.advance(to: start + .milliseconds(305)) == [admitted(1), admitted(2), admitted(3)])
    }

    @Test("a timer that rings much too late does not hand out more than the burst")
    func veryLateTimer() {
        var ledger = emptied(burst: 2)
        for ticket in UInt64(1)...5 { _ = ledger.request(ticket, .player, patience: .seconds(60), now: start) }
        #expect(ledger.advance(to: start + .seconds(30)) == [admitted(1), admitted(2)])
        let played = play(&ledger, until: .seconds(60))
        #expect(played.map(\.at) == [.milliseconds(30_100), .milliseconds(30_200), .milliseconds(30_300)])
    }

    @Test("negative patience is none, and endless patience ends after a day")
    func oddPatience() {
        var ledger = emptied()
        #expect(
            ledger.request(1, .player, patience: .seconds(-1), now: start) == [refused(1, .milliseconds(100))])
        ledger = emptied()
        _ = ledger.setShare(0.000_1, now: start)
        _ = ledger.close(for: .seconds(86_399), now: start)
        #expect(ledger.request(1, .player, patience: .seconds(Int64.max), now: start).isEmpty)
        #expect(ledger.nextEvent == start + .seconds(86_399))
        _ = ledger.setShare(0, now: start)
        #expect(ledger.nextEvent == start + .seconds(86_400))
    }

    // MARK: Refusals

    @Test("refused requests are told times a token apart, behind each other and not behind other priorities")
    func appointments() {
        var ledger = emptied()
        for ticket in UInt64(1)...50 {
            let after = Duration.milliseconds(100 * Int(ticket))
            #expect(ledger.request(ticket, .sweep, patience: .zero, now: start) == [refused(ticket, after)])
        }
        #expect(ledger.request(51, .player, patience: .zero, now: start) == [refused(51, .milliseconds(100))])
        // Time passes, and appointments with it.
        let later = start + .milliseconds(50)
        #expect(ledger.request(52, .sweep, patience: .zero, now: later) == [refused(52, .milliseconds(5_050))])
        _ = ledger.request(53, .sweep, patience: .seconds(1), now: start + .seconds(60))
        #expect(ledger.tokens(start + .seconds(60)) == 9)
    }

    @Test("appointments end somewhere")
    func appointmentsEnd() {
        var ledger = emptied()
        var last = Duration.zero
        for ticket in UInt64(1)...10_000 {
            guard
                case .refused(let after)? = ledger.request(ticket, .sweep, patience: .zero, now: start).first?.admission
            else {
                Issue.record("\(ticket) was not refused")
                return
            }
            last = after
        }
        #expect(last == RateLedger.Limit.appointmentsMaximum + .milliseconds(100))
    }

    @Test("when too many wait, further ones are refused; a player takes the place of the last sweep")
    func full() {
        var ledger = emptied(waitersMaximum: 3)
        for ticket in UInt64(1)...3 { _ = ledger.request(ticket, .sweep, patience: .seconds(5), now: start) }
        #expect(ledger.request(4, .sweep, patience: .seconds(5), now: start) == [refused(4, .milliseconds(400))])
        #expect(ledger.request(5, .player, patience: .seconds(5), now: start) == [refused(3, .milliseconds(500))])
        #expect(ledger.request(6, .deadline, patience: .seconds(5), now: start).map(\.ticket) == [2])
        #expect(ledger.request(7, .deadline, patience: .seconds(5), now: start).map(\.ticket) == [1])
        #expect(ledger.request(8, .deadline, patience: .seconds(5), now: start).map(\.ticket) == [8])
        #expect(play(&ledger, until: .seconds(5)).map(\.outcome) == [5, 6, 7].map { admitted($0) })
    }

    @Test("with no room for waiters everything is answered at once")
    func noRoom() {
        var ledger = emptied(waitersMaximum: -1)
        #expect(ledger.request(1, .player, patience: .seconds(5), now: start) == [refused(1, .milliseconds(100))])
        #expect(
            ledger.request(2, .player, patience: .seconds(5), now: start + .milliseconds(100)) == [admitted(2)])
    }

    // MARK: Going away

    @Test("who goes away takes no token along, and the others move up")
    func cancelled() {
        var ledger = emptied()
        for ticket in UInt64(1)...3 { _ = ledger.request(ticket, .player, patience: .seconds(1), now: start) }
        #expect(ledger.cancel(1, now: start).map(\.ticket) == [1])
        #expect(ledger.cancel(1, now: start).isEmpty)
        #expect(ledger.cancel(99, now: start).isEmpty)
        let played = play(&ledger, until: .seconds(1))
        #expect(played.map(\.outcome) == [admitted(2), admitted(3)])
        #expect(played.map(\.at) == [.milliseconds(100), .milliseconds(200)])
        #expect(ledger.cancel(2, now: start + .seconds(1)).isEmpty)
    }

    @Test("a token that was not used goes to the next in the line at once")
    func givenBack() {
        var ledger = emptied()
        _ = ledger.request(1, .sweep, patience: .seconds(1), now: start)
        _ = ledger.request(2, .player, patience: .seconds(1), now: start)
        #expect(ledger.giveBack(start) == [admitted(2)])
        #expect(ledger.giveBack(start) == [admitted(1)])
        #expect(ledger.giveBack(start).isEmpty)
        #expect(ledger.tokens(start) == 1)
    }

    // MARK: 429

    @Test("after a 429 nothing is admitted before its end, to the millisecond, and then one at a time")
    func closure() {
        var ledger = RateLedger(limit: .init(perSecond: 10, burst: 10), waitersMaximum: 100, now: start)
        _ = ledger.close(for: .milliseconds(1_500), now: start)
        for ticket in UInt64(1)...3 {
            #expect(ledger.request(ticket, .player, patience: .seconds(5), now: start).isEmpty)
        }
        #expect(ledger.advance(to: start + .milliseconds(1_499)).isEmpty)
        let played = play(&ledger, until: .seconds(5))
        #expect(played.map(\.outcome) == (1...3).map { admitted($0) })
        #expect(played.map(\.at) == [1_500, 1_600, 1_700].map { .milliseconds($0) })
    }

    @Test("those whose patience ends before a closure does are refused at once; the others keep their places")
    func closureRefuses() {
        var ledger = emptied()
        for (ticket, patience) in [(UInt64(1), 5_000), (2, 1_999), (3, 2_000), (4, 300)] {
            #expect(
                ledger.request(ticket, .player, patience: .milliseconds(patience), now: start).isEmpty == (ticket != 4))
        }
        let outcomes = ledger.close(for: .seconds(2), now: start)
        #expect(outcomes == [refused(2, .milliseconds(2_200))])
        #expect(
            ledger.request(5, .player, patience: .milliseconds(1_500), now: start + .milliseconds(500))
                == [refused(5, .milliseconds(1_800))])
        let played = play(&ledger, until: .seconds(5))
        #expect(played.map(\.outcome.ticket) == [1, 3])
        #expect(played.map(\.outcome.admission).first == .admitted)
        #expect(played.first?.at == .seconds(2))
    }

    // MARK: Shares

    @Test("a change of the share holds at once for those who wait")
    func shares() {
        var ledger = emptied()
        for ticket in UInt64(1)...3 { _ = ledger.request(ticket, .player, patience: .seconds(5), now: start) }
        #expect(ledger.setShare(0.5, now: start).isEmpty)
        #expect(ledger.nextEvent == start + .milliseconds(200))
        #expect(ledger.advance(to: start + .milliseconds(200)) == [admitted(1)])
        #expect(ledger.setShare(1, now: start + .milliseconds(300)).isEmpty)
        #expect(ledger.nextEvent == start + .milliseconds(350))
        #expect(play(&ledger, until: .seconds(5)).map(\.at) == [.milliseconds(350), .milliseconds(450)])
    }

    @Test("without a share new requests are refused, and waiters wait for its return or the end of their patience")
    func noShare() {
        var ledger = emptied()
        _ = ledger.request(1, .player, patience: .seconds(1), now: start)
        _ = ledger.request(2, .player, patience: .seconds(3), now: start)
        _ = ledger.setShare(0, now: start)
        let wait = RateLedger.Limit.retryAfterWithoutShare
        #expect(ledger.request(3, .player, patience: .seconds(60), now: start) == [refused(3, wait)])
        #expect(play(&ledger, until: .seconds(2)).map(\.outcome) == [refused(1, wait)])
        #expect(ledger.setShare(1, now: start + .seconds(2)).isEmpty)
        #expect(play(&ledger, until: .seconds(3)).map(\.at) == [.milliseconds(2_100)])
    }

    @Test("a refusal without a share while closed names the end of the closure")
    func noShareClosed() {
        var ledger = emptied()
        _ = ledger.setShare(0, now: start)
        _ = ledger.close(for: .seconds(60), now: start)
        #expect(ledger.request(3, .player, patience: .seconds(60), now: start) == [refused(3, .seconds(60))])
    }
}
