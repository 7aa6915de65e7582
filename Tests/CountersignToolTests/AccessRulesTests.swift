import Foundation
import Kafka
import Messages
import Testing

@testable import CountersignTool

/// Each service may do what it does with Kafka, and nothing else.
@Suite struct AccessRulesTests {
    private let rules = AccessRules.all(prefix: "User:").flatMap(\.rules)

    /// Who may do this with that topic.
    private func users(_ operation: KafkaAccessRule.Operation, _ topic: String) -> Set<String> {
        Set(rules.filter { $0.operation == operation && $0.resource == .topic(topic) }.map(\.principal))
    }

    @Test func onlyWhoWritesATopicMayWriteIt() {
        // It sends dead letters again, and is not the user that looks.
        let toolOperator = "User:countersign-operator"
        #expect(users(.write, Topics.submissions) == ["User:receipt-intake", toolOperator])
        #expect(users(.write, Topics.lookups) == ["User:receipt-intake", "User:verification-worker", toolOperator])
        #expect(users(.write, Topics.verdicts) == ["User:verification-worker", toolOperator])
        #expect(users(.write, Topics.deliveries) == ["User:fulfillment", toolOperator])
        #expect(users(.write, Topics.events) == ["User:fulfillment"])
        #expect(users(.write, Topics.settlements) == ["User:fulfillment"])
        #expect(
            users(.write, Topics.deadLetters)
                == ["User:verification-worker", "User:fulfillment", "User:notification"])
    }

    @Test func onlyWhoReadsATopicMayReadIt() {
        let tool = "User:countersign-tool"
        #expect(users(.read, Topics.submissions) == ["User:verification-worker", tool])
        #expect(users(.read, Topics.lookups) == ["User:verification-worker", tool])
        #expect(users(.read, Topics.verdicts) == ["User:fulfillment", tool])
        #expect(users(.read, Topics.deliveries) == ["User:notification", tool])
        // No group of ours reads them, so the doctor has no record to look for.
        #expect(users(.read, Topics.events) == [])
        #expect(users(.read, Topics.settlements) == ["User:receipt-intake"])
        // No service does: a person looks at them.
        #expect(users(.read, Topics.deadLetters) == [tool, "User:countersign-operator"])
    }

    @Test func groupsAreReadByTheirOwnServiceOnly() {
        for group in TopicUse.groups {
            let readers = rules.filter { $0.operation == .read && $0.resource == .group(group.name) }
            #expect(readers.map(\.principal) == ["User:\(group.service)"])
        }
    }

    @Test func intakeMayAskHowFarTheGroupsAreThatItSendsTo() {
        for group in [TopicUse.submissions, TopicUse.verdicts] {
            let rights = rules.filter { $0.principal == "User:receipt-intake" && $0.resource == .group(group.name) }
            #expect(rights.map(\.operation) == [.describe])
            #expect(users(.describe, group.topic).contains("User:receipt-intake"))
        }
    }

    @Test func whoLooksWritesNothing() {
        let tool = rules.filter { $0.principal == "User:countersign-tool" }
        #expect(!tool.isEmpty && tool.allSatisfy { $0.operation != .write && $0.operation != .idempotentWrite })
    }

    @Test func nobodyMayChangeTopicsOrRules() {
        #expect(rules.allSatisfy { $0.operation != .create && $0.operation != .alter })
        #expect(rules.filter { $0.resource == .cluster }.allSatisfy { $0.operation == .idempotentWrite })
        #expect(Set(rules).count == rules.count)
    }

    @Test func linesAreArgumentsOfKafkasOwnTool() {
        let lines = AccessRules.lines(prefix: "User:CN=")
        for line in [
            "--add --allow-principal User:CN=receipt-intake --operation Write --topic countersign.submissions",
            "--add --allow-principal User:CN=receipt-intake --operation Describe --group receipt-intake-tail",
            "--add --allow-principal User:CN=fulfillment --operation Read --group countersign.fulfillment",
            "--add --allow-principal User:CN=notification --operation IdempotentWrite --cluster",
        ] {
            #expect(lines.contains(line))
        }
        #expect(lines.allSatisfy { $0.hasPrefix("--add --allow-principal User:CN=") || $0.hasPrefix("# ") })
        let prefixed = KafkaAccessRule(principal: "User:x", resource: .groups(prefix: "a."), operation: .describe)
        #expect(AccessRules.line(prefixed).hasSuffix("--group a. --resource-pattern-type prefixed"))
    }

    @Test func aConsumerOfTheStudiosReadsEventsAndNothingElse() {
        let lines = AccessRules.lines(prefix: "User:", consumers: ["analytics"])
        #expect(
            lines.suffix(3) == [
                "# analytics", "--add --allow-principal User:analytics --operation Read --topic countersign.events",
                "--add --allow-principal User:analytics --operation Read --group analytics. --resource-pattern-type prefixed",
            ])
        #expect(Array(lines.dropLast(3)) == AccessRules.lines(prefix: "User:"))
    }

    @Test func thePageSaysOfEachUserWhatItMayDo() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../deploy/ACCESS.md")
        let text = try String(contentsOf: file, encoding: .utf8)
        let section = try #require(text.split(separator: "\n## ").first { $0.hasPrefix("Kafka\n") })
        let rows = section.split(separator: "\n").map { line in
            line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        }.filter { $0.count == 4 && $0[0].hasPrefix("`") }
        func words(_ cell: String) -> Set<String> {
            cell == "nothing" ? [] : Set(cell.split(separator: ", ").map { "countersign.\($0)" })
        }
        let users = AccessRules.all(prefix: "")
        #expect(rows.map { $0[0] } == users.map { "`\($0.user)`" })
        for (row, (user, rules)) in zip(rows, users) {
            func topics(_ operation: KafkaAccessRule.Operation) -> Set<String> {
                Set(
                    rules.filter { $0.operation == operation }.compactMap { rule in
                        if case .topic(let name) = rule.resource { name } else { nil }
                    })
            }
            #expect(words(row[1]) == topics(.write), "\(user)")
            #expect(words(row[2]) == topics(.read), "\(user)")
            let groups = rules.filter { $0.operation == .read }.compactMap { rule in
                if case .group(let name) = rule.resource { name } else { nil }
            }
            if !groups.isEmpty { #expect(words(row[3]) == Set(groups), "\(user)") }
        }
    }

    @Test func topicsWithThreeCopiesAskForTwoInSync() {
        #expect(TopicsCommand.settings(replicationFactor: 3) == ["min.insync.replicas": "2"])
        #expect(TopicsCommand.settings(replicationFactor: 2).isEmpty)
        #expect(TopicsCommand.grownLine((Topics.events, 24), from: 12).contains("warning: keys moved"))
        #expect(
            TopicsCommand.grownLine((Topics.verdicts, 12), from: 6)
                == "countersign.verdicts has 12 partitions now, it had 6")
    }
}
