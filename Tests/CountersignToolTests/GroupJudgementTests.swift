import Messages
import Testing

@testable import CountersignTool
@testable import Kafka

/// What the doctor says of a consumer group, from what the broker tells: no broker is needed.
@Suite struct GroupJudgementTests {
    private static let group = TopicUse.verdicts
    private static let places = (0..<4).map { KafkaPartition(topic: group.topic, partition: $0) }

    /// One group: how many partitions each member has, what was committed and where the partitions end.
    struct Case: CustomTestStringConvertible, Sendable {
        let what: String
        var state = KafkaGroup.State.stable
        var before: KafkaGroup.State?
        var members = [2, 2]
        var committed: Int64? = 10
        var end: Int64 = 10
        /// Seconds since the oldest unread record was written, of the partitions that have any.
        var age: Double?
        let level: Finding.Level
        let says: String

        var testDescription: String { what }
    }

    static let cases = [
        Case(what: "all is read", level: .good, says: "stable, 2 members, 4 of 4 partitions assigned, nothing unread"),
        Case(what: "a young backlog", end: 12, age: 3, level: .good, says: "8 unread, oldest 3 s"),
        Case(what: "an old backlog", end: 12, age: 300, level: .wrong, says: "do not keep up, or hang"),
        Case(what: "an age that is not known", end: 12, level: .good, says: "8 unread"),
        Case(
            what: "never used", state: .dead, members: [], committed: nil, end: 0, level: .good,
            says: "nothing was ever written"),
        Case(
            what: "never read, and records wait", state: .dead, members: [], committed: nil, end: 5, age: 1,
            level: .wrong, says: "nobody is in it: countersign.fulfillment is unknown to the broker, 0 members"),
        Case(
            what: "nobody, records wait", state: .empty, members: [], end: 11, level: .wrong, says: "nobody is in it"),
        Case(what: "nobody, nothing waits", state: .empty, members: [], level: .warning, says: "nothing waits"),
        Case(
            what: "unread where nobody reads", members: [3], end: 11, level: .wrong,
            says: "nobody reads 1 partitions"),
        Case(what: "members that were given nothing", members: [0, 0], end: 11, level: .wrong, says: "nobody reads 4"),
        Case(what: "new partitions, empty", members: [2, 1], level: .warning, says: "nobody would read 1"),
        Case(
            what: "a rebalance at one look", state: .preparingRebalance, before: .stable, members: [0, 0], end: 11,
            level: .good, says: "in a rebalance"),
        Case(
            what: "a rebalance at both looks", state: .completingRebalance, before: .preparingRebalance,
            members: [0, 0], level: .warning, says: "it rebalances, and did 4 s ago"),
        Case(
            what: "a rebalance while records grow old", state: .preparingRebalance, before: .stable, members: [0],
            end: 11, age: 61, level: .wrong, says: "nobody reads while it rebalances"),
        Case(
            what: "a broker that lost its data", committed: 100, end: 3, age: 1, level: .good,
            says: "12 unread, oldest 1 s"),
    ]

    private static func look(_ one: Case) -> GroupLook {
        var left = places[...]
        let members = one.members.map { count in
            defer { left = left.dropFirst(count) }
            return KafkaGroup.Member(
                clientId: "fulfillment", host: "/127.0.0.1", consumerId: "c", partitions: Set(left.prefix(count)))
        }
        var look = GroupLook(
            group: group, stateBefore: one.before,
            described: KafkaGroup(id: group.name, state: one.state, members: members), partitions: places,
            committed: one.committed.map { offset in
                Dictionary(uniqueKeysWithValues: places.map { ($0, offset) })
            } ?? [:],
            offsets: Dictionary(uniqueKeysWithValues: places.map { ($0, KafkaOffsets(earliest: 0, end: one.end)) }))
        if let age = one.age { look.oldest = look.unread.mapValues { _ in age } }
        return look
    }

    @Test(arguments: cases) func aGroupIsJudged(_ one: Case) {
        let findings = KafkaCheck.judge(Self.look(one), grace: .seconds(60))
        #expect(findings.count == 1)
        #expect(findings.first?.level == one.level)
        #expect(findings.first?.detail.contains(one.says) == true, "\(findings.first?.detail ?? "")")
        #expect((findings.first?.remedy == nil) == (one.level == .good))
    }

    @Test func moreConsumersThanPartitionsIsAWarning() {
        let look = Self.look(Case(what: "", members: [1, 1, 1, 1, 0], level: .good, says: ""))
        let findings = KafkaCheck.judge(look, grace: .seconds(60))
        #expect(findings.map(\.level) == [.good, .warning])
        #expect(findings.last?.detail.contains("5 consumers for 4 partitions") == true)
    }

    @Test func whatIsRemovedByAgeIsNotUnread() {
        let place = Self.places[0]
        let look = GroupLook(
            group: Self.group, stateBefore: nil, described: KafkaGroup(id: "g", state: .stable, members: []),
            partitions: [place], committed: [place: 5], offsets: [place: KafkaOffsets(earliest: 8, end: 10)])
        #expect(look.lag(of: [place]) == 2)
        #expect(look.unread == [place: 8])
    }

    @Test func anAgeThatIsNotToldIsAWarningAndNoCrash() {
        var look = Self.look(Case(what: "", end: 12, level: .good, says: ""))
        look.ageNotSeen = KafkaError(.authorization, nativeName: "TOPIC_AUTHORIZATION_FAILED", "no right")
        let findings = KafkaCheck.judge(look, grace: .seconds(60))
        #expect(findings.map(\.level) == [.good, .warning])
        #expect(findings.last?.remedy?.contains("countersign topics --acls") == true)
    }
}
