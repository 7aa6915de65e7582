import Testing

@testable import EventProcessing
@testable import Kafka

/// What is a stall and what is not, decided second by second without a clock.
@Suite("The health of a consumer")
struct ConsumerHealthTests {
    private static let start = ContinuousClock.now
    private static let topic = "t"

    private static func partition(_ number: Int32) -> KafkaPartition {
        KafkaPartition(topic: topic, partition: number)
    }

    private static func group(_ members: [Set<Int32>], state: KafkaGroup.State = .stable) -> KafkaGroup {
        KafkaGroup(
            id: "g", state: state,
            members: members.enumerated().map { index, numbers in
                KafkaGroup.Member(
                    clientId: "c\(index)", host: "h", consumerId: "m\(index)",
                    partitions: Set(numbers.map(partition)))
            })
    }

    /// A topic of three partitions, each with so many records, of which so many are committed.
    private static func view(
        committed: [Int64?] = [0, 0, 0], ends: [Int64] = [10, 10, 10], group: KafkaGroup? = group([])
    ) -> GroupView {
        var view = GroupView(partitionCount: ends.count, group: group)
        for (number, (committed, end)) in zip(committed, ends).enumerated() {
            view.places[partition(Int32(number))] = GroupView.Place(committed: committed, earliest: 0, end: end)
        }
        return view
    }

    private static func progress(
        _ numbers: Set<Int32>?, positions: [Int32: Int64] = [:],
        change: (inout KafkaConsumerProgress) -> Void = { _ in }
    ) -> KafkaConsumerProgress {
        var progress = KafkaConsumerProgress()
        progress.isRunning = true
        progress.isAssigned = numbers != nil
        progress.partitions = Set((numbers ?? []).map(partition))
        progress.positions = positions.reduce(into: [:]) { $0[partition($1.key)] = $1.value }
        change(&progress)
        return progress
    }

    /// Judges the same sight every second, from `from` to `to`; the last verdict, and when replacing was asked for.
    private func play(
        _ health: inout ConsumerHealth, _ progress: KafkaConsumerProgress, _ view: GroupView?, from: Int = 0, to: Int
    ) -> (standing: ConsumerStanding, replacements: [Int]) {
        var standing = ConsumerStanding.starting
        var replacements: [Int] = []
        for second in from...to {
            let verdict = health.judge(progress, view: view, at: Self.start + .seconds(second))
            standing = verdict.standing
            if verdict.replaces { replacements.append(second) }
        }
        return (standing, replacements)
    }

    private func standing(_ progress: KafkaConsumerProgress, _ view: GroupView?, after seconds: Int) -> ConsumerStanding
    {
        var health = ConsumerHealth(limits: ConsumerHealth.Limits())
        return play(&health, progress, view, to: seconds).standing
    }

    // MARK: Without partitions

    @Test("waits for the group before the first assignment, and is not ready")
    func waiting() {
        let done = Self.view(committed: [10, 10, 10])
        let first = standing(Self.progress(nil), done, after: 10)
        #expect(first == .waiting(isAnswered: true) && !first.isReady)
        #expect(first.sentence == "waiting for the group")
        #expect(standing(Self.progress(nil), nil, after: 100) == .waiting(isAnswered: false))
        #expect(standing(Self.progress(nil), done, after: 26) == .stalled(.notJoining))
        // There is nothing to join for.
        #expect(standing(Self.progress(nil), GroupView(group: nil), after: 100) == .waiting(isAnswered: true))
    }

    @Test("stalls when nobody is assigned what is unread", arguments: [true, false])
    func nobodyReads(isAssigned: Bool) {
        let progress = Self.progress(isAssigned ? [] : nil)
        for group in [Self.group([[], []], state: .preparingRebalance), Self.group([]), nil] {
            let view = Self.view(committed: [10, 4, nil], group: group)
            #expect(!standing(progress, view, after: 14).isStalled)
            let partitions = [1, 2].map(Self.partition)
            #expect(standing(progress, view, after: 15) == .stalled(.nobodyReads(partitions, records: 16)))
        }
    }

    @Test("is a spare as long as the others have what is unread")
    func spare() {
        let group = Self.group([[0], [1], [2], []])
        let spare = standing(Self.progress([]), Self.view(group: group), after: 1_000)
        #expect(spare == .spare(members: 4, partitions: 3) && spare.isReady)
        #expect(spare.sentence == "spare: 4 members for 3 partitions")
        // A group that cannot be seen, and that goes on, has somebody.
        var health = ConsumerHealth(limits: ConsumerHealth.Limits())
        for second in 0...60 {
            let view = Self.view(committed: [Int64(second / 5), 10, 10], ends: [100, 10, 10], group: nil)
            let verdict = health.judge(Self.progress([]), view: view, at: Self.start + .seconds(second))
            #expect(verdict.standing == .spare(members: nil, partitions: 3))
        }
    }

    @Test("stays ready through a short rebalance, not through a long one")
    func rebalancing() {
        var health = ConsumerHealth(limits: ConsumerHealth.Limits())
        let done = Self.view(committed: [10, 10, 10])
        #expect(play(&health, Self.progress([0]), done, to: 5).standing.isReady)
        #expect(play(&health, Self.progress(nil), done, from: 6, to: 20).standing == .rebalancing)
        #expect(play(&health, Self.progress(nil), done, from: 21, to: 30).standing == .waiting(isAnswered: true))
        #expect(play(&health, Self.progress(nil), done, from: 31, to: 31).standing == .stalled(.notJoining))
    }

    @Test("blames no client for a broker that does not answer")
    func outage() {
        var health = ConsumerHealth(limits: ConsumerHealth.Limits())
        let away = GroupView(isAnswered: false)
        #expect(play(&health, Self.progress(nil), Self.view(), to: 10).standing == .waiting(isAnswered: true))
        #expect(play(&health, Self.progress(nil), away, from: 11, to: 200).standing == .waiting(isAnswered: false))
        #expect(
            play(&health, Self.progress(nil), Self.view(), from: 201, to: 214).standing == .waiting(isAnswered: true))
        #expect(play(&health, Self.progress(nil), Self.view(), from: 215, to: 216).standing.isStalled)
        // A stall that was seen stays one.
        #expect(play(&health, Self.progress(nil), away, from: 217, to: 230).standing.isStalled)
        let ours = standing(Self.progress([0], positions: [0: 3]), away, after: 1_000)
        #expect(ours == .consuming(1, isAnswered: false) && ours.isReady)
    }

    // MARK: With partitions

    @Test("stalls when there is something to read and nothing comes")
    func notReading() {
        let view = Self.view(committed: [3, 10, 10], group: Self.group([[0, 1]]))
        #expect(standing(Self.progress([0, 1]), view, after: 14) == .consuming(2, isAnswered: true))
        #expect(standing(Self.progress([0, 1]), view, after: 15) == .stalled(.notReading([Self.partition(0)])))
        // What is handled counts before it is committed.
        let handled = Self.progress([0, 1], positions: [0: 10])
        #expect(standing(handled, view, after: 1_000) == .consuming(2, isAnswered: true))
        // Somebody else's partition is somebody else's.
        #expect(standing(Self.progress([1]), view, after: 1_000) == .consuming(1, isAnswered: true))
    }

    @Test("stalls when its log lost its records and it does not start over")
    func lostLog() {
        let ahead = Self.progress([0], positions: [0: 90])
        for committed: Int64? in [nil, 90] {
            let view = Self.view(committed: [committed, 10, 10], group: Self.group([[0]]))
            #expect(standing(ahead, view, after: 15) == .stalled(.notReading([Self.partition(0)])))
        }
        // The group's commits say that this end is just older than what we know.
        let older = Self.view(committed: [10, 10, 10], group: Self.group([[0]]))
        #expect(standing(ahead, older, after: 1_000) == .consuming(1, isAnswered: true))
        let empty = Self.view(committed: [nil, 10, 10], ends: [0, 10, 10], group: Self.group([[0]]))
        #expect(standing(ahead, empty, after: 1_000) == .consuming(1, isAnswered: true))
    }

    @Test("does not stall while there is progress, however slow")
    func progressing() {
        var health = ConsumerHealth(limits: ConsumerHealth.Limits())
        for second in 0...300 {
            let progress = Self.progress([0], positions: [0: Int64(second / 14)])
            let verdict = health.judge(progress, view: Self.view(ends: [99, 0, 0]), at: Self.start + .seconds(second))
            #expect(verdict == .init(standing: .consuming(1, isAnswered: true)))
        }
    }

    @Test("knows what explains a silence")
    func explained() {
        let view = Self.view(group: Self.group([[0]]))
        let all = [Self.partition(0)]
        let paused = Self.progress([0]) { $0.isPaused = true }
        #expect(standing(paused, view, after: 1_000) == .paused(1))
        let failing = Self.progress([0]) { $0.failures = 7 }
        #expect(standing(failing, view, after: 1_000) == .failing(7))
        #expect(ConsumerStanding.failing(7).isReady)
        let busy = Self.progress([0]) {
            $0.handlingSince = Self.start
            $0.waiting = Set(all)
        }
        #expect(standing(busy, view, after: 300) == .consuming(1, isAnswered: true))
        let late = standing(busy, view, after: 301)
        #expect(late == .handlingTooLong(.seconds(300)) && !late.isReady && !late.isStalled)
        // Busy with others; of this one nothing comes.
        let elsewhere = Self.progress([0]) { $0.handlingSince = Self.start + .seconds(100) }
        #expect(standing(elsewhere, view, after: 15) == .stalled(.notReading(all)))
        let full = Self.progress([0]) { $0.isHeldBack = true }
        #expect(standing(full, view, after: 1_000) == .consuming(1, isAnswered: true))
    }

    @Test("stalls when what is handled is never committed")
    func notCommitting() {
        let view = Self.view(committed: [0, 10, 10])
        let handled = Self.progress([0], positions: [0: 10]) { $0.isUncommitted = true }
        #expect(standing(handled, view, after: 15) == .stalled(.notCommitting))
        var health = ConsumerHealth(limits: ConsumerHealth.Limits())
        for second in 0...60 {
            let progress = Self.progress([0], positions: [0: 10]) {
                $0.isUncommitted = true
                $0.commits = second / 10
            }
            #expect(!health.judge(progress, view: view, at: Self.start + .seconds(second)).standing.isStalled)
        }
    }

    // MARK: What follows

    @Test("has a stalled client replaced, less often each time, and begins anew once it works")
    func replacements() {
        var health = ConsumerHealth(limits: ConsumerHealth.Limits())
        let view = Self.view(group: Self.group([]))
        // Seen after 15 s, then 20 s; the waits double up to ten times that.
        let first = play(&health, Self.progress(nil), view, to: 800)
        #expect(first.replacements == [35, 75, 155, 315, 515, 715])
        let works = Self.progress([0, 1, 2], positions: [0: 10, 1: 10, 2: 10])
        #expect(play(&health, works, view, from: 801, to: 801).standing == .consuming(3, isAnswered: true))
        #expect(play(&health, Self.progress(nil), view, from: 802, to: 860).replacements == [837])
    }

    @Test("names a lasting error, for which a new client is no help")
    func troubled() {
        func trouble(_ code: KafkaError.Code, stopsWork: Bool = true) -> KafkaTrouble {
            KafkaTrouble(error: KafkaError(code, "no", remedy: "mend it"), stopsWork: stopsWork)
        }
        let refused = Self.progress(nil) { $0.trouble = trouble(.authorization) }
        let standing = standing(refused, Self.view(), after: 1_000)
        #expect(standing == .troubled(trouble(.authorization)) && !standing.isReady && !standing.isStalled)
        #expect(standing.sentence == "no; mend it")
        // The topic is there, and the client does not find it.
        let blind = Self.progress(nil) { $0.trouble = trouble(.unknownTopic) }
        #expect(self.standing(blind, Self.view(), after: 15).isStalled)
        #expect(self.standing(blind, GroupView(), after: 1_000) == .troubled(trouble(.unknownTopic)))
        let some = Self.progress([0], positions: [0: 10]) { $0.trouble = trouble(.messageTooLarge, stopsWork: false) }
        #expect(self.standing(some, Self.view(), after: 1_000).isReady)
    }

    @Test("reckons the lag of all partitions from the group's commits")
    func lag() {
        #expect(Self.view(committed: [3, nil, 10]).lag == 17)
        #expect(GroupView().lag == nil)
        // What was deleted behind the commit, or went with a broker's data, is not unread.
        var view = GroupView()
        view.places[Self.partition(0)] = .init(committed: 3, earliest: 8, end: 10)
        view.places[Self.partition(1)] = .init(committed: 90, earliest: 0, end: 4)
        #expect(view.lag == 6)
    }
}
