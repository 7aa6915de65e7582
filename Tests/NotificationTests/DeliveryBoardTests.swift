import Testing

@testable import Notification

@Suite struct DeliveryBoardTests {
    private let now = ContinuousClock.now

    private func board(_ ids: [String] = ["a", "b"], unrecordedMaximum: Int = 100) -> DeliveryBoard {
        var board = DeliveryBoard(perEndpointMaximum: 3, maximum: 4, unrecordedMaximum: unrecordedMaximum)
        board.follow(ids)
        return board
    }

    /// One that runs, and whose endpoints have nothing due.
    private func running(_ ids: [String] = ["a", "b"], unrecordedMaximum: Int = 100) -> DeliveryBoard {
        var board = board(ids, unrecordedMaximum: unrecordedMaximum)
        board.start()
        for id in ids { board.endClaim(id, room: board.beginClaim(id), found: 0) }
        return board
    }

    @Test func roomIsLimitedPerEndpointAndInAll() {
        var board = board()
        #expect(board.beginClaim("a") == 3)
        #expect(board.room(for: "a") == 0)
        #expect(board.room(for: "b") == 1)
        board.endClaim("a", room: 3, found: 3)
        board.finished("a", isRecorded: true)
        #expect(board.room(for: "a") == 1)
        #expect(board.room(for: "b") == 2)
        #expect(!board.isIdle)
    }

    @Test func claimGivesBackWhatItDidNotFind() {
        var board = board()
        let room = board.beginClaim("a")
        board.endClaim("a", room: room, found: 1)
        #expect(board.room(for: "a") == 2)
        board.finished("a", isRecorded: true)
        #expect(board.isIdle)
    }

    @Test func endpointIsAskedAgainOnlyWhenItMayHaveMore() {
        var board = board(["a"])
        #expect(board.nextToClaim(now: now) == ["a"])
        board.endClaim("a", room: board.beginClaim("a"), found: 1)
        #expect(board.nextToClaim(now: now).isEmpty)
        board.look(at: ["a"])
        #expect(board.nextToClaim(now: now) == ["a"])
        board.endClaim("a", room: board.beginClaim("a"), found: 2)
        #expect(board.nextToClaim(now: now).isEmpty)
        board.finished("a", isRecorded: true)
        #expect(board.nextToClaim(now: now) == ["a"])
    }

    @Test func whatBecomesDueDuringAClaimAndAClaimThatFailsAreLookedForAgain() {
        var board = board(["a"])
        let room = board.beginClaim("a")
        board.look(at: ["a"])
        board.endClaim("a", room: room, found: 0)
        #expect(board.nextToClaim(now: now) == ["a"])
        board.endClaim("a", room: board.beginClaim("a"), found: nil)
        #expect(board.nextToClaim(now: now) == ["a"])
        #expect(board.isIdle)
    }

    @Test func turnsRotate() {
        var board = board()
        #expect(board.nextToClaim(now: now) != board.nextToClaim(now: now))
    }

    @Test func pausedAndDisabledEndpointsWait() {
        var board = board()
        board.pause("a", until: now + .seconds(10))
        #expect(board.nextToClaim(now: now) == ["b"])
        #expect(board.open(now: now) == ["b"])
        #expect(board.open(now: now + .seconds(10)) == ["a", "b"])
        #expect(board.pauseEnd(now: now) == now + .seconds(10))
        #expect(board.pauseEnd(now: now + .seconds(10)) == nil)
        board.disable("b")
        #expect(board.open(now: now).isEmpty)
        board.disable(only: [])
        #expect(board.open(now: now) == ["b"])
    }

    @Test func newEventsHaveRoomUpToTheLimits() {
        var board = running()
        let hadRoom = ["a", "a", "a", "a", "b", "b"].map { board.reserve($0, now: now) }
        #expect(hadRoom == [true, true, true, false, true, false])
        board.finished("a", isRecorded: true)
        #expect(board.reserve("b", now: now) == true)
        #expect(board.reserve("unknown", now: now) == false)
    }

    @Test func newEventsHaveNoRoomAtPausedAndDisabledEndpoints() {
        var board = running()
        board.pause("a", until: now + .seconds(10))
        board.disable("b")
        #expect(board.reserve("a", now: now) == false)
        #expect(board.reserve("a", now: now + .seconds(10)) == true)
        #expect(board.reserve("b", now: now) == false)
    }

    @Test func newEventsHaveNoRoomBeforeWhatWaits() {
        var board = running()
        board.look(at: ["a"])
        #expect(board.reserve("a", now: now) == false)
        // The share of b is its own. Of what is beyond, a is there first.
        #expect(board.reserve("b", now: now) == true)
        #expect(board.reserve("b", now: now) == false)
        board.finished("b", isRecorded: true)
        board.endClaim("a", room: board.beginClaim("a"), found: 3)
        // More waits for a, and only an attempt to a that ends makes room for it.
        #expect(board.reserve("b", now: now) == true)
    }

    @Test func newEventsHaveRoomOnlyWhileTheLoopRuns() {
        var fresh = board(["a"])
        fresh.endClaim("a", room: fresh.beginClaim("a"), found: 0)
        #expect(fresh.reserve("a", now: now) == false)
        var board = running()
        board.stop()
        board.start()
        #expect(board.reserve("a", now: now) == false)
    }

    @Test func nothingBeginsWhileTooMuchIsUnrecorded() {
        var board = running(unrecordedMaximum: 1)
        #expect(board.reserve("a", now: now) == true)
        board.finished("a", isRecorded: false)
        #expect(board.isIdle)
        #expect(board.reserve("a", now: now) == false)
        #expect(board.beginClaim("a") == 0)
        board.recorded(1)
        #expect(board.reserve("a", now: now) == true)
    }

    @Test func noEndpointTakesTheSharesOfOthers() {
        var board = DeliveryBoard(perEndpointMaximum: 16, maximum: 64, unrecordedMaximum: 100)
        let slow = (0..<5).map { "slow\($0)" }
        let healthy = (0..<15).map { "healthy\($0)" }
        board.follow(slow + healthy)
        board.start()
        for id in slow {
            let room = board.beginClaim(id)
            board.endClaim(id, room: room, found: room)
        }
        for id in healthy {
            board.endClaim(id, room: board.beginClaim(id), found: 0)
            #expect(board.room(for: id) >= 1, "\(id)")
        }
        let hadRoom = healthy.map { board.reserve($0, now: now) }
        #expect(!hadRoom.contains(false))
        for id in healthy { board.finished(id, isRecorded: true) }
        // An endpoint that leaves the file gives its share back.
        board.follow(slow)
        #expect(slow.reduce(0) { $0 + board.room(for: $1) } > 0)
    }

    @Test func hundredsOfIdleEndpointsLeaveRoomForOneThatIsNot() {
        var board = DeliveryBoard(perEndpointMaximum: 16, maximum: 64, unrecordedMaximum: 100)
        let ids = (0..<500).map { "e\($0)" }
        board.follow(ids)
        #expect(board.beginClaim("e0") == 16)
        #expect(board.beginClaim("e1") == 16)
        // The half that is shared out is left, one for each that comes.
        #expect(board.room(for: "e2") == 1)
        #expect((2..<40).map { board.beginClaim("e\($0)") }.reduce(0, +) == 32)
        #expect(board.room(for: "e499") == 0)
    }

    @Test func endpointThatOnlyFailsIsTriedOneAtATimeWithGrowingPauses() {
        var board = running()
        var changes: [Bool?] = (1...5).map { _ in board.note("a", succeeded: false, now: now) }
        #expect(changes == [nil, nil, nil, nil, true])
        #expect(board.isBroken("a") && !board.isBroken("b"))
        #expect(board.reserve("a", now: now) == false)
        #expect(board.reserve("b", now: now) == true)
        board.look(at: ["a"])
        #expect(board.nextToClaim(now: now).isEmpty)
        #expect(board.pauseEnd(now: now) == now + .seconds(1))
        // What had begun before tells nothing new.
        #expect(board.note("a", succeeded: false, now: now + .milliseconds(500)) == nil)
        #expect(board.pauseEnd(now: now) == now + .seconds(1))
        var instant = now
        for pause in [1, 2, 4, 8, 16, 30, 30] {
            #expect(board.pauseEnd(now: instant) == instant + .seconds(pause))
            instant += .seconds(pause)
            #expect(board.nextToClaim(now: instant) == ["a"])
            #expect(board.beginClaim("a") == 1)
            #expect(board.nextToClaim(now: instant).isEmpty)
            board.endClaim("a", room: 1, found: 1)
            board.finished("a", isRecorded: true)
            #expect(board.note("a", succeeded: false, now: instant) == nil)
        }
        changes = [board.note("a", succeeded: true, now: instant)]
        #expect(changes == [false])
        #expect(board.nextToClaim(now: instant) == ["a"])
        #expect(board.beginClaim("a") == 3)
    }

    @Test func endpointThatFailsNowAndThenIsNotBroken() {
        var board = running()
        for _ in 1...20 {
            for _ in 1...4 { #expect(board.note("a", succeeded: false, now: now) == nil) }
            #expect(board.note("a", succeeded: true, now: now) == nil)
        }
        #expect(!board.isBroken("a"))
    }
}
