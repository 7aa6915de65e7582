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
        // There is room for b, and a was there first.
        #expect(board.reserve("b", now: now) == false)
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
}
