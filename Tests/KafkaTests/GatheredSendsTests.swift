import Testing

@testable import Kafka

@Suite struct GatheredSendsTests {
    private func send(_ count: Int, from token: UInt = 0) -> GatheredSends.Send {
        GatheredSends.Send(messages: (0..<count).map { .text("\($0)", topic: "t") }, firstToken: token)
    }

    /// The tokens of what follows.
    private func next(_ sends: inout GatheredSends) -> [UInt] {
        sends.next().map(\.firstToken)
    }

    @Test func aSendAloneGoesAtOnce() {
        var sends = GatheredSends()
        for _ in 0..<3 {
            let begins = sends.begins(send(1))
            let following = next(&sends)
            #expect(begins)
            #expect(following.isEmpty)
        }
    }

    @Test func whatComesMeanwhileFollowsTogetherInItsOrder() {
        var sends = GatheredSends()
        let first = [sends.begins(send(1, from: 1)), sends.begins(send(2, from: 2)), sends.begins(send(1, from: 4))]
        #expect(first == [true, false, false])
        let following = next(&sends)
        #expect(following == [2, 4])
        // These are on their way now.
        let later = sends.begins(send(1, from: 5))
        #expect(!later)
        let last = [next(&sends), next(&sends)]
        #expect(last == [[5], []])
        let alone = sends.begins(send(1, from: 6))
        #expect(alone)
    }

    @Test func whatHasNoPlaceGoesAtOnce() {
        var sends = GatheredSends()
        let begins = [
            sends.begins(send(1)), sends.begins(send(GatheredSends.messagesMaximum, from: 1)),
            sends.begins(send(1, from: 2)),
        ]
        #expect(begins == [true, false, true])
        let following = next(&sends)
        #expect(following == [1])
        let later = sends.begins(send(1, from: 3))
        #expect(!later)
    }

    @Test func whatIsGivenUpIsTakenOnce() {
        var sends = GatheredSends()
        let begins = [sends.begins(send(1)), sends.begins(send(1, from: 1))]
        #expect(begins == [true, false])
        let taken = [sends.takeHeld().map(\.firstToken), sends.takeHeld().map(\.firstToken), next(&sends)]
        #expect(taken == [[1], [], []])
    }
}
