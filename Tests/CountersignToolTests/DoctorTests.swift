import AppStore
import Messages
import PurchaseModel
import ServiceRuntime
import Testing
import TrustedRootSettings

@testable import CountersignTool
@testable import Persistence

/// The doctor tells what is wrong from what is only worth a look, and never without a remedy.
@Suite struct DoctorTests {
    private func server(
        fsync: Bool = true, commit: String = "on", standby: Bool = false, collation: String = "C", current: Bool = true
    ) -> Finding {
        DatabaseCheck.judge(
            BacklogStore.ServerSettings(
                version: "15.1", isFsyncOn: fsync, synchronousCommit: commit, isStandby: standby, collation: collation,
                isCollationCurrent: current))
    }

    @Test func aServerThatCanLoseCommitsIsWrong() {
        #expect(server().level == .good)
        #expect(server(fsync: false).level == .wrong)
        #expect(server(commit: "off").level == .wrong)
        #expect(server(standby: true).level == .wrong)
        #expect(server(commit: "local").level == .good)
        #expect(server(collation: "en_US.UTF-8").level == .warning)
        #expect(server(collation: "C.UTF-8").level == .good)
        #expect(server(collation: "C.UTF-8", current: false).level == .wrong)
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

    @Test func eventsThatNobodyGivesPositionsAreNamed() {
        #expect(DatabaseCheck.judge(unnumberedSeconds: 0).level == .good)
        #expect(DatabaseCheck.judge(unnumberedSeconds: 59).level == .good)
        #expect(DatabaseCheck.judge(unpublishedSeconds: 59).level == .good)
        #expect(DatabaseCheck.judge(unpublishedSeconds: 61).level == .warning)
        let stalled = DatabaseCheck.judge(unnumberedSeconds: 7_300)
        #expect(stalled.level == .wrong && stalled.detail.contains("the oldest for 2 h"))
        #expect(stalled.remedy?.contains("fulfillment") == true)
    }

    @Test func whatIsUnclaimedIsNoDoubtThatNeedsSomebody() {
        let unclaimed = BacklogStore.Parked(
            reason: "unclaimed", count: 187, oldestSeconds: 7300, oldestOrder: "production 1")
        let doubt = BacklogStore.Parked(
            reason: "product_unknown", count: 2, oldestSeconds: 60, oldestOrder: "production 2")
        #expect(DatabaseCheck.judge(parked: []).map(\.level) == [.good])
        #expect(DatabaseCheck.judge(parked: [unclaimed]).map(\.level) == [.good, .good])
        let findings = DatabaseCheck.judge(parked: [doubt, unclaimed])
        #expect(findings.map(\.level) == [.warning, .good])
        #expect(findings.first?.detail == "2 for product_unknown, oldest 60 s")
        #expect(findings.last?.subject == "unclaimed")
        #expect(findings.last?.detail.contains("187") == true)
    }

    @Test func doubtsAboutPurchasesAreToldWithTheOldestAndARemedyEach() {
        func judge(
            _ conflicts: BacklogStore.OpenConflicts? = nil, _ parked: [BacklogStore.Parked] = []
        ) -> [Finding] {
            PurchaseCheck.judge(conflicts: conflicts, parked: parked)
        }
        #expect(judge().map(\.level) == [.good])
        let parked = ["product_unknown", "purchase_ambiguous", "transaction_incomplete"].map {
            BacklogStore.Parked(reason: $0, count: 2, oldestSeconds: 7300, oldestOrder: "sandbox 7")
        }
        let findings = judge(
            BacklogStore.OpenConflicts(count: 3, oldestSeconds: 7300, oldest: "production 9"), parked)
        #expect(
            findings.map(\.detail) == [
                "Apple signed what contradicts an order, 3 times, the oldest 2 h ago: production 9",
                "2 orders are parked for purchase_ambiguous, the oldest for 2 h: sandbox 7",
                "2 orders are parked for transaction_incomplete, the oldest for 2 h: sandbox 7",
            ])
        #expect(findings.allSatisfy { $0.level == .warning && $0.remedy?.contains("countersign") == true })
        let others = DatabaseCheck.judge(parked: parked)
        #expect(others.map(\.detail) == ["2 for product_unknown, oldest 2 h"], "each doubt is told of once")
    }

    @Test func alarmsNameTheReasonTheOldestAndWhoMustAct() {
        func judge(_ reason: String) -> Finding? {
            AlarmCheck.judge([
                SubmissionStore.Alarmed(reason: ReasonCode(rawValue: reason), count: 3, oldestSeconds: 7300)
            ]).first
        }
        #expect(AlarmCheck.judge([]).map(\.level) == [.good])
        let refused = judge("app_store_unauthorized")
        #expect(refused?.level == .wrong)
        #expect(
            refused?.detail == "3 purchases have no outcome for app_store_unauthorized, the oldest is 2 h old")
        #expect(refused?.remedy?.contains("key_id") == true)
        #expect(judge("app_store_not_configured")?.remedy?.contains("app_store_server_api") == true)
        for reason in ["shared_secret_mismatch", "shared_secret_missing"] {
            #expect(judge(reason)?.level == .wrong)
            #expect(judge(reason)?.remedy?.contains("shared_secret_file") == true)
        }
        for reason in ["app_store_unavailable", "rate_limited", "revocation_unknown"] {
            #expect(judge(reason)?.level == .warning, "only Apple can end it")
        }
    }

    @Test func aForeignRootOfTheEnvironmentIsAWarning() throws {
        let foreign = try TrustedRoots(fingerprints: [String(repeating: "ab", count: 32)])
        func judge(_ signed: TrustedRoots, _ receipts: TrustedRoots) -> Finding {
            RootCheck.judge(environment: [.signedData: signed, .receipts: receipts])
        }
        #expect(judge(.appleRootG3, .appleRoot).level == .good)
        let signed = judge(foreign.union(.appleRootG3), .appleRoot)
        #expect(signed.level == .warning && signed.detail.contains("COUNTERSIGN_TRUSTED_ROOTS"))
        let receipts = judge(.appleRootG3, foreign.union(.appleRoot))
        #expect(receipts.level == .warning && receipts.detail.contains("COUNTERSIGN_RECEIPT_ROOTS"))
        let findings = SettingsCheck(
            settings: SettingReader(["receipt.roots": String(repeating: "ab", count: 32)])
        ).run()
        #expect(findings.last?.level == .warning)
    }

    @Test func whatAServiceRunsWithIsToldByItsOwnPage() {
        let base = "http://127.0.0.1:9411"
        func findings(_ signed: Int, _ receipts: Int) -> [Finding] {
            let page = """
                countersign_build_info{service="verification-worker",version="1"} 1
                countersign_foreign_roots{use="signed_data"} \(signed)
                countersign_foreign_roots{use="receipts"} \(receipts)
                """
            return RootCheck.judge(MetricsPage(page), of: base)
        }
        #expect(findings(0, 0).map(\.level) == [.good])
        #expect(findings(0, 1).map(\.level) == [.warning])
        let told = "\(base) trusts for receipts what is not Apple's (1 of its roots)"
        #expect(findings(0, 1).first?.detail.contains(told) == true)
        #expect(findings(2, 1).map(\.level) == [.warning, .warning])
        func silent(_ service: String) -> [Finding] {
            RootCheck.judge(MetricsPage("countersign_build_info{service=\"\(service)\"} 1"), of: base)
        }
        #expect(silent("fulfillment").isEmpty)
        #expect(silent("verification-worker").map(\.level) == [.warning])
        #expect(silent("receipt-intake").map(\.level) == [.warning])
    }

    @Test func aDevelopmentServerIsWrong() {
        let page = MetricsPage(
            """
            countersign_build_info{service="verification-worker",version="1"} 1
            countersign_foreign_roots{use="signed_data"} 1
            countersign_foreign_roots{use="xcode"} 2
            """)
        let findings = RootCheck.judge(page, of: "http://127.0.0.1:9411")
        #expect(findings.map(\.level) == [.warning, .wrong])
        #expect(findings.last?.detail.contains("takes purchases that Xcode signs") == true)
        // In the tool's own environment, where no service would start with it.
        let mistaken = SettingsCheck(
            settings: SettingReader(["xcode.certificates": String(repeating: "ab", count: 32)])
        ).run().last
        #expect(mistaken?.level == .wrong && mistaken?.detail.contains("COUNTERSIGN_XCODE_CERTIFICATES") == true)
    }

    @Test func deniedCertificatesAreCountedAndAppleOwnRootIsAWarning() throws {
        let some = String(repeating: "ab", count: 32)
        func denied(_ text: String) -> Finding? {
            SettingsCheck(settings: SettingReader(["trusted.denied_certificates": text])).run()
                .first { $0.subject == "denied" }
        }
        #expect(denied("") == nil)
        #expect(denied("\(some), \(some.replacing("a", with: "c"))")?.level == .good)
        #expect(denied(some)?.detail == "1 certificates: abababababababab…")
        #expect(denied("\(some),x")?.level == .wrong)
        for root in TrustedRoots.appleRootG3.union(.appleRoot).fingerprints {
            #expect(denied("\(some),\(root)")?.level == .warning)
        }
    }

    @Test func endpointsInTheDatabaseNeedAKey() {
        func webhooks(_ settings: [String: String]) -> Finding? {
            SettingsCheck(settings: SettingReader(["webhooks": "database"].merging(settings) { $1 })).run()
                .first { $0.subject == "webhooks" }
        }
        #expect(webhooks([:])?.level == .warning)
        #expect(webhooks([:])?.remedy?.contains("notification does not start") == true)
        #expect(webhooks(["webhooks.key": "short"])?.level == .wrong)
        let key = String(repeating: "A", count: 43) + "="
        #expect(webhooks(["webhooks.key": key])?.level == .good)
    }

    @Test func missingSettingsAreFindingsAndNoCrash() {
        let findings = SettingsCheck(settings: SettingReader([:])).run()
        #expect(findings.map(\.subject) == ["apps", "catalogue", "webhooks", "trusted roots"])
        #expect(findings.map(\.level) == [.wrong, .wrong, .wrong, .good])
    }

    @Test func fewerPartitionsThanWantedAreLeftAloneWithAWarning() {
        #expect(TopicsCommand.wanted(partitions: 24).map(\.partitions) == [24, 24, 24, 24, 24, 3, 3])
        #expect(
            TopicsCommand.line(("a", 12), created: false, counts: ["a": 6])
                == "warning: a has 6 partitions, not 12; it is left as it is")
        #expect(TopicsCommand.line(("a", 6), created: false, counts: ["a": 12]) == "a is there with 12 partitions")
        #expect(TopicsCommand.line(("a", 12), created: true, counts: [:]) == "created a with 12 partitions")
    }
}
