import Messages
import Testing

@testable import CountersignTool
@testable import Kafka

/// What the doctor says of brokers and topics, from what the broker tells: no broker is needed.
@Suite struct ClusterJudgementTests {
    private func cluster(
        brokers: Int, replicas: Int, inSync: Int? = nil, leader: Int32? = 1
    ) -> KafkaCluster {
        KafkaCluster(
            brokers: brokers,
            topics: Topics.partitionsByDefault.map { topic in
                let odd = topic.name == Topics.events
                return KafkaTopic(
                    name: topic.name,
                    partitions: [
                        .init(
                            id: 0, leader: odd ? leader : 1, replicas: replicas,
                            inSyncReplicas: odd ? inSync ?? replicas : replicas)
                    ])
            } + [KafkaTopic(name: "somebody.else", partitions: [])])
    }

    @Test func oneBrokerIsForDevelopmentOnly() {
        let findings = KafkaCheck.judge(copies: cluster(brokers: 1, replicas: 1))
        #expect(findings.map(\.level) == [.good])
        #expect(findings.first?.detail.contains("development only") == true)
    }

    @Test func fewCopiesOnSeveralBrokersAreAWarning() {
        #expect(KafkaCheck.judge(copies: cluster(brokers: 3, replicas: 3)).map(\.level) == [.good])
        for replicas in [1, 2] {
            let findings = KafkaCheck.judge(copies: cluster(brokers: 3, replicas: replicas))
            #expect(findings.map(\.level) == [.warning])
            #expect(findings.first?.detail.contains(Topics.submissions) == true)
        }
        // Two of three brokers are down: that is no development.
        #expect(KafkaCheck.judge(copies: cluster(brokers: 1, replicas: 3, inSync: 1)).map(\.level) == [.warning])
    }

    @Test func copiesBehindAreAWarningAndNoLeaderIsWrong() {
        let behind = KafkaCheck.judge(copies: cluster(brokers: 3, replicas: 3, inSync: 2))
        #expect(behind.map(\.level) == [.warning])
        #expect(behind.first?.detail == "not all copies are in sync of countersign.events-0")
        let leaderless = KafkaCheck.judge(copies: cluster(brokers: 3, replicas: 3, leader: nil))
        #expect(leaderless.map(\.level) == [.wrong])
        #expect(leaderless.first?.detail.contains("no broker leads countersign.events-0") == true)
    }

    @Test func writesThatOneBrokerAloneHasAreAWarning() {
        let three = cluster(brokers: 3, replicas: 3)
        func settings(_ value: String) -> [String: [String: String]] {
            [Topics.verdicts: ["min.insync.replicas": value]]
        }
        #expect(KafkaCheck.judge(settings: settings("1"), cluster: three).map(\.level) == [.warning])
        #expect(KafkaCheck.judge(settings: settings("2"), cluster: three).isEmpty)
        #expect(KafkaCheck.judge(settings: [:], cluster: three).isEmpty)
        #expect(KafkaCheck.judge(settings: settings("1"), cluster: cluster(brokers: 1, replicas: 1)).isEmpty)
    }

    @Test func whyABrokerIsNotReachedIsASentenceWithARemedy() {
        let known = KafkaCheck.judge(
            unreachable: KafkaError(
                .authentication, nativeName: "_SSL", "the broker's certificate has expired", remedy: "renew it"))
        #expect(known.level == .wrong)
        #expect(known.detail.contains("has expired"))
        #expect(known.remedy?.hasPrefix("renew it") == true)
        let unknown = KafkaCheck.judge(unreachable: KafkaError(.transport, "no connection"))
        #expect(unknown.remedy?.contains("COUNTERSIGN_KAFKA_BOOTSTRAP_SERVERS") == true)
    }
}
