import AppStore
import Messages
import PurchaseModel
import ServiceRuntime
import Testing

@testable import CountersignTool
@testable import Persistence

/// The doctor tells what is wrong from what is only worth a look, and never without a remedy.
@Suite struct DoctorTests {
    private func server(fsync: Bool = true, commit: String = "on", standby: Bool = false) -> Finding {
        DatabaseCheck.judge(
            BacklogStore.ServerSettings(
                version: "15.1", isFsyncOn: fsync, synchronousCommit: commit, isStandby: standby))
    }

    @Test func aServerThatCanLoseCommitsIsWrong() {
        #expect(server().level == .good)
        #expect(server(fsync: false).level == .wrong)
        #expect(server(commit: "off").level == .wrong)
        #expect(server(standby: true).level == .wrong)
        #expect(server(commit: "local").level == .good)
    }

    @Test func missingTopicsAreNamed() {
        var counts = Dictionary(uniqueKeysWithValues: Topics.partitionsByDefault.map { ($0.name, $0.partitions) })
        #expect(KafkaCheck.judge(counts: counts).allSatisfy { $0.level == .good })
        counts[Topics.verdicts] = nil
        let finding = KafkaCheck.judge(counts: counts).last
        #expect(finding?.level == .wrong)
        #expect(finding?.detail == "missing: countersign.verdicts")
    }

    @Test func overdueRowsNameTheServiceThatShouldTakeThem() {
        let late = DatabaseCheck.judge(
            overdue: [BacklogStore.Overdue(table: "events", count: 3, oldestSeconds: 7300)], oldestUnsettled: 9000)
        #expect(late.map(\.level) == [.wrong])
        #expect(late.first?.detail == "3 events are overdue, the oldest by 2 h")
        #expect(late.first?.remedy?.contains("fulfillment") == true)
        #expect(DatabaseCheck.judge(overdue: [], oldestUnsettled: nil).map(\.level) == [.good])
    }

    @Test func aForeignRootIsAWarning() throws {
        let foreign = try TrustedRoots(fingerprints: [String(repeating: "ab", count: 32)])
        #expect(SettingsCheck.judge(.appleRootG3).level == .good)
        #expect(SettingsCheck.judge(foreign.union(.appleRootG3)).level == .warning)
    }

    @Test func missingSettingsAreFindingsAndNoCrash() {
        let findings = SettingsCheck(settings: SettingReader([:])).run()
        #expect(findings.map(\.subject) == ["apps", "catalogue", "webhooks", "trusted roots"])
        #expect(findings.map(\.level) == [.wrong, .wrong, .wrong, .good])
    }

    @Test func fewerPartitionsThanWantedAreLeftAloneWithAWarning() {
        #expect(TopicsCommand.wanted(partitions: 24).map(\.partitions) == [24, 24, 24, 3])
        #expect(
            TopicsCommand.line(("a", 12), created: false, counts: ["a": 6])
                == "warning: a has 6 partitions, not 12; it is left as it is")
        #expect(TopicsCommand.line(("a", 12), created: true, counts: [:]) == "created a with 12 partitions")
    }
}
