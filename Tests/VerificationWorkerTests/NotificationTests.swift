import AppStore
import AppStoreServerAPI
import Foundation
import Messages
import NIOHTTP1
import PurchaseModel
import Testing

@testable import VerificationWorker

@Suite("Server notifications", .enabled(if: Simulator.isThere, Simulator.missing))
struct NotificationTests {
    /// Types that are about no transaction.
    private static let without: Set<String> = [
        "TEST", "EXTERNAL_PURCHASE_TOKEN", "RESCIND_CONSENT", "RENEWAL_EXTENSION SUMMARY",
    ]

    /// What the table of `deploy/site/pages/apple-notifications.md` says is read, by type and subtype.
    private static func table() throws -> [String: String] {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../deploy/site/pages/apple-notifications.md")
        let lines = try String(contentsOf: file, encoding: .utf8).split(
            separator: "\n", omittingEmptySubsequences: false)
        let start = try #require(lines.firstIndex(of: "| type | subtype | reads | what it does here |"))
        var rows: [String: String] = [:]
        for line in lines[(start + 2)...].prefix(while: { $0.hasPrefix("|") }) {
            let cells = line.split(separator: "|", omittingEmptySubsequences: false).dropFirst().dropLast()
                .map { $0.trimmingCharacters(in: CharacterSet(charactersIn: " `")) }
            try #require(cells.count == 4, "\(line)")
            #expect(!cells[3].isEmpty, "\(line)")
            let name = cells[0] + (cells[1].isEmpty ? "" : " " + cells[1])
            #expect(rows.updateValue(cells[2], forKey: name) == nil, "\(name) stands twice")
        }
        return rows
    }

    /// What was taken out of a notification, in the table's words.
    private static func reads(_ finding: Finding) -> String {
        var parts: [String] = []
        if !finding.transactions.isEmpty { parts.append("transaction") }
        if !finding.renewals.isEmpty { parts.append("renewal") }
        if !finding.rescindedConsents.isEmpty { parts.append("app") }
        return parts.joined(separator: ", ")
    }

    private static func milliseconds(_ date: Date?) -> Int64? {
        date.map { Int64(($0.timeIntervalSince1970 * 1_000).rounded()) }
    }

    @Test("names of fields that nobody knows go along, outside and inside, and words that decide nothing")
    func unknown() async throws {
        try await Stage.run { stage in
            let data = try await stage.finding(
                "DID_RENEW", override: #"{"zebra":1,"data.zebra":2,"data.status":6}"#)
            #expect(data.notification?.unknownFields == ["notification.zebra", "notification.data.zebra"])
            #expect(data.notification?.status == 6)
            let inside = "appData.signedAppTransactionInfo"
            let download = try await stage.finding(
                "RESCIND_CONSENT", override: #"{"\#(inside).zebra":1,"\#(inside).storeType":"X"}"#)
            #expect(download.notification?.unknownFields == ["appTransaction.zebra"])
            #expect(download.notification?.storeType == "X")
        }
    }

    @Test("All 23 types are genuine in both environments, with exactly what Apple signed in them")
    func allTypes() async throws {
        try await Stage.run { stage in
            let triggers = try await stage.simulator.triggers()
            #expect(Set(triggers.map(\.notificationType)).count == 23)
            let rows = try Self.table()
            let names = triggers.map { [$0.notificationType, $0.subtype].compactMap(\.self).joined(separator: " ") }
            #expect(Set(rows.keys) == Set(names))
            #expect(rows.count == names.count)
            for environment in AppStoreEnvironment.allCases {
                for trigger in triggers {
                    let name = [trigger.notificationType, trigger.subtype].compactMap { $0 }.joined(separator: " ")
                    let told = try await stage.simulator.notification(
                        trigger.notificationType, trigger.subtype, in: environment)
                    let finding = try await stage.finding(notified(told.signedPayload))
                    #expect(finding.name == "genuine", "\(name): \(finding.reason ?? "")")
                    #expect(finding.claims.ids == [], "\(name)")
                    var kind = VerdictMessage.NotificationKind(
                        type: told.notificationType, subtype: told.subtype, uuid: told.notificationUUID,
                        environment: StoreEnvironment(appleName: environment.rawValue),
                        signedDate: finding.notification?.signedDate,
                        consumptionRequestReason: told.payload.data?.consumptionRequestReason)
                    kind.status = finding.notification?.status
                    #expect((1...5).contains(kind.status ?? 1), "\(name)")
                    #expect(finding.notification == kind)
                    #expect(Self.milliseconds(finding.notification?.signedDate) == told.payload.signedDate, "\(name)")
                    #expect(rows[name] == Self.reads(finding), "\(name)")
                    let isAboutOne = !Self.without.contains(name) && !Self.without.contains(trigger.notificationType)
                    #expect(finding.transactions.count == (isAboutOne ? 1 : 0), "\(name)")
                    compare(finding, with: told, in: environment, name)
                }
            }
        }
    }

    private func compare(
        _ finding: Finding, with told: ToldNotification, in environment: AppStoreEnvironment, _ name: String
    ) {
        let environment = StoreEnvironment(appleName: environment.rawValue)
        let transaction = told.payload.data?.signedTransactionInfo
        let renewal = told.payload.data?.signedRenewalInfo
        #expect(finding.transactions.map(\.transactionId) == [transaction?.transactionId].compactMap { $0 }, "\(name)")
        #expect(
            finding.renewals.map(\.originalTransactionId) == [renewal?.originalTransactionId].compactMap { $0 },
            "\(name)")
        #expect(finding.transactions.allSatisfy { $0.environment == environment }, "\(name)")
        #expect(finding.renewals.allSatisfy { $0.environment == environment }, "\(name)")
        if let found = finding.transactions.first, let transaction { compare(found, transaction, name) }
        if let found = finding.renewals.first, let renewal { compare(found, renewal, name) }
        let consents = [told.payload.appData?.signedAppTransactionInfo?.appTransactionId].compactMap { $0 }
        #expect(finding.rescindedConsents.map(\.appTransactionId) == consents, "\(name)")
        #expect(consents.isEmpty == (told.notificationType != "RESCIND_CONSENT"))
        for consent in finding.rescindedConsents {
            #expect(consent.environment == environment)
            #expect(consent.bundleId == SubmissionFixture.app)
            #expect(Self.milliseconds(consent.signedDate) == told.payload.signedDate)
        }
    }

    private func compare(_ found: Transaction, _ told: ToldNotification.Transaction, _ name: String) {
        #expect(found.originalTransactionId == told.originalTransactionId, "\(name)")
        #expect(Self.milliseconds(found.signedDate) == told.signedDate, "\(name)")
        #expect(Self.milliseconds(found.revocationDate) == told.revocationDate, "\(name)")
        #expect(found.revocationType == told.revocationType, "\(name)")
        #expect(found.revocationPercentage == told.revocationPercentage, "\(name)")
        #expect(found.isUpgraded == told.isUpgraded, "\(name)")
        #expect(found.subscriptionGroupId == told.subscriptionGroupIdentifier, "\(name)")
        #expect(found.transactionReason == told.transactionReason, "\(name)")
        #expect(found.offerType == told.offerType, "\(name)")
        #expect(found.offerIdentifier == told.offerIdentifier, "\(name)")
        #expect(found.offerDiscountType == told.offerDiscountType, "\(name)")
        #expect(found.offerPeriod == told.offerPeriod, "\(name)")
        #expect(found.webOrderLineItemId == told.webOrderLineItemId, "\(name)")
        #expect(found.appTransactionId == told.appTransactionId, "\(name)")
        #expect(found.evidence?.contains(told.transactionId) == true, "\(name)")
    }

    private func compare(_ found: RenewalStatement, _ told: ToldNotification.Renewal, _ name: String) {
        #expect(found.productId == told.productId, "\(name)")
        #expect(found.renewalProductId == told.autoRenewProductId, "\(name)")
        #expect(found.willRenew == (told.autoRenewStatus == 1), "\(name)")
        #expect(found.expirationIntent == told.expirationIntent, "\(name)")
        #expect(found.isInBillingRetry == told.isInBillingRetryPeriod, "\(name)")
        #expect(found.priceIncreaseStatus == told.priceIncreaseStatus, "\(name)")
        #expect(Self.milliseconds(found.gracePeriodExpiresDate) == told.gracePeriodExpiresDate, "\(name)")
        #expect(found.offerType == told.offerType, "\(name)")
        #expect(found.offerIdentifier == told.offerIdentifier, "\(name)")
        #expect(
            Self.milliseconds(found.recentSubscriptionStartDate) == told.recentSubscriptionStartDate, "\(name)")
        #expect(Self.milliseconds(found.renewalDate) == told.renewalDate, "\(name)")
        #expect(found.renewalPriceMilliunits == told.renewalPrice, "\(name)")
        #expect(found.currency == told.currency, "\(name)")
        #expect(Self.milliseconds(found.signedDate) == told.signedDate, "\(name)")
    }

    @Test("MIGRATE, as Apple's changelog writes it, is MIGRATION")
    func otherName() async throws {
        try await Stage.run { stage in
            let finding = try await stage.finding("MIGRATE", isForced: true)
            #expect(finding.transactions.count == 1)
        }
    }

    @Test("A genuine notification about somebody who never posted is nobody's claim")
    func aboutNobody() async throws {
        try await Stage.run { stage in
            let finding = try await stage.finding(
                notified(try await stage.simulator.attack("notification_about_nobody")))
            #expect(finding.transactions.map(\.revocationType) == ["REFUND_FULL"])
            #expect(finding.claims.ids == [])
        }
    }

    @Test("A notification that was edited, or that nobody signed, tells nothing")
    func edited() async throws {
        try await Stage.run { stage in
            for (attack, code) in [
                ("notification_edited", "signature_invalid"), ("notification_unsigned", "not_a_jws"),
                ("notification_self_made", "root_not_trusted"), ("notification_xcode", "root_not_trusted"),
            ] {
                let finding = try await stage.finding(notified(try await stage.simulator.attack(attack)))
                #expect(finding.reason == code, "\(attack)")
                #expect(finding.notification == nil && finding.renewals == [], "\(attack)")
            }
        }
    }

    @Test("Where the sandbox is refused, nothing of its notifications is passed on, and the type is still counted")
    func refusedSandbox() async throws {
        try await Stage.run { stage in
            for type in ["DID_RENEW", "RESCIND_CONSENT", "TEST"] {
                let finding = try await stage.finding(type, in: .sandbox, Setup(sandbox: "refuse"))
                #expect(finding.reason == "sandbox_refused", "\(type)")
                #expect(finding.renewals == [] && finding.rescindedConsents == [], "\(type)")
                #expect(finding.notification?.type == type)
            }
        }
    }

    @Test("A commitment is told in our words")
    func commitment() async throws {
        try await Stage.run { stage in
            let finding = try await stage.finding(
                "SUBSCRIBED", "INITIAL_BUY",
                override: """
                    {"data.signedTransactionInfo.billingPlanType":"MONTHLY","data.signedTransactionInfo.commitmentInfo":
                    {"billingPeriodNumber":2,"totalBillingPeriods":12,"commitmentPrice":59880,
                    "commitmentExpiresDate":1800000000000}}
                    """)
            #expect(
                finding.transactions.first?.commitment
                    == Transaction.Commitment(
                        billingPeriod: 2, billingPeriods: 12, priceMilliunits: 59_880,
                        expiresDate: Date(timeIntervalSince1970: 1_800_000_000), billingPlan: "MONTHLY"))
            let usual = try await stage.finding("SUBSCRIBED", "INITIAL_BUY")
            #expect(usual.transactions.map(\.commitment) == [nil])
        }
    }

    @Test("Certificates are asked about of the notification and of everything signed in it, each chain once")
    func chains() async throws {
        try await Stage.run { stage in
            let ours = try await stage.simulator.notification("DID_RENEW").signedPayload
            let mixed = try await stage.simulator.attack("nested_transaction_self_made")
            try await stage.withAccess { access in
                let verifier = access.judge.offline.signedData
                let chain = try #require(verifier.certificateChains(ofNotification: Array(ours.utf8)))
                #expect(chain == [verifier.certificates(of: Array(ours.utf8))])
                let both = try #require(verifier.certificateChains(ofNotification: Array(mixed.utf8)))
                #expect(both.count == 2)
                #expect(both.first == verifier.certificates(of: Array(mixed.utf8)))
                #expect(verifier.certificateChains(ofNotification: Array("a.b.c".utf8)) == nil)
            }
        }
    }

    @Test("Types are counted under names that are known, and all others under one")
    func labels() {
        for type in SignedNotification.NotificationType.known {
            #expect(NotificationTally.label(of: type.rawValue) == type.rawValue)
        }
        #expect(SignedNotification.NotificationType.known.count == 24)
        #expect(NotificationTally.label(of: "OF_TOMORROW") == "other")
        #expect(NotificationTally.label(of: "") == "other")
    }
}
