import Foundation
import Kafka
import Messages

/// Looks at the brokers, the topics and the consumer groups.
struct KafkaCheck: Sendable {
    let admin: KafkaAdmin
    /// From which age on an unread record is too old.
    let grace: Duration

    /// How long the broker has for an answer.
    static let timeout = Duration.seconds(15)
    /// How long the oldest unread records are waited for: a partition may have been emptied meanwhile.
    static let recordTimeout = Duration.seconds(5)
    /// The pause before groups that are not at rest are looked at again; a rebalance takes less.
    static let pause = Duration.seconds(4)

    /// The findings; a broker that does not answer is one, too.
    func run() async -> [Finding] {
        let cluster: KafkaCluster
        do throws(KafkaError) {
            cluster = try await admin.cluster(timeout: Self.timeout)
        } catch {
            return [Self.judge(unreachable: error)]
        }
        var findings = Self.judge(counts: cluster.partitionCounts)
        findings += Self.judge(copies: cluster) + (await settings(of: cluster))
        for look in await looks(at: cluster) {
            switch look {
            case .success(let look): findings += Self.judge(look, grace: grace)
            case .failure(let failure): findings.append(Self.judge(notSeen: failure.what, failure.error))
            }
        }
        return findings
    }

    /// Something that the broker would not tell.
    struct NotSeen: Error {
        let what: String
        let error: KafkaError
    }

    private func settings(of cluster: KafkaCluster) async -> [Finding] {
        let copied = Self.ours(cluster).filter { topic in topic.partitions.contains { $0.replicas > 1 } }
        // One copy cannot be in sync with another.
        guard !copied.isEmpty else { return [] }
        do throws(KafkaError) {
            return Self.judge(
                settings: try await admin.settings(of: copied.map(\.name), timeout: Self.timeout), cluster: cluster)
        } catch {
            return [Self.judge(notSeen: "the topics' settings", error)]
        }
    }

    /// All groups, each looked at; those that are not at rest are looked at twice, some seconds apart.
    private func looks(at cluster: KafkaCluster) async -> [Result<GroupLook, NotSeen>] {
        let topics = Dictionary(Self.ours(cluster).map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        var looks: [Result<GroupLook, NotSeen>] = []
        for group in TopicUse.groups {
            guard let topic = topics[group.topic] else { continue }
            looks.append(await look(at: group, topic, before: nil))
        }
        guard looks.contains(where: { (try? $0.get())?.isAtRest == false }) else { return looks }
        // A pause, since nothing signals that a group is at rest.
        try? await Task.sleep(for: Self.pause)
        for index in looks.indices {
            guard let first = try? looks[index].get(), !first.isAtRest, let topic = topics[first.group.topic] else {
                continue
            }
            looks[index] = await look(at: first.group, topic, before: first.described.state)
        }
        return looks
    }

    private func look(
        at group: TopicUse.Group, _ topic: KafkaTopic, before: KafkaGroup.State?
    ) async -> Result<GroupLook, NotSeen> {
        // Whoever has no leader cannot be asked, and is a finding already.
        let places = topic.partitions.filter { $0.leader != nil }.map {
            KafkaPartition(topic: topic.name, partition: $0.id)
        }
        do throws(KafkaError) {
            // One that the answer leaves out never was.
            let described =
                try await admin.groups([group.name], timeout: Self.timeout).first
                ?? KafkaGroup(id: group.name, state: .dead, members: [])
            let committed = try await admin.committedOffsets(
                of: group.name, partitions: places, timeout: Self.timeout)
            // After the commits, so that nothing looks read that is not there yet.
            let offsets = try await admin.offsets(of: places, timeout: Self.timeout)
            var look = GroupLook(
                group: group, stateBefore: before, described: described, partitions: topic.places,
                committed: committed, offsets: offsets)
            await addAge(to: &look)
            return .success(look)
        } catch {
            return .failure(NotSeen(what: "the group \(group.name)", error: error))
        }
    }

    private func addAge(to look: inout GroupLook) async {
        guard !look.unread.isEmpty else { return }
        do throws(KafkaError) {
            let times = try await admin.timestamps(at: look.unread, timeout: Self.recordTimeout)
            look.oldest = times.mapValues { max(0, -$0.timeIntervalSinceNow) }
        } catch {
            look.ageNotSeen = error
        }
    }

    /// Our topics among all that are there.
    static func ours(_ cluster: KafkaCluster) -> [KafkaTopic] {
        let names = Set(Topics.partitionsByDefault.map(\.name))
        return cluster.topics.filter { names.contains($0.name) }
    }
}

extension KafkaCluster {
    /// The partitions of each topic.
    var partitionCounts: [String: Int] {
        Dictionary(topics.map { ($0.name, $0.partitions.count) }, uniquingKeysWith: { first, _ in first })
    }
}
