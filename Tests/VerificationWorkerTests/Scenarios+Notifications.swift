import AppStoreServerAPI
import Foundation
import Messages
import PurchaseModel
import Testing

@testable import VerificationWorker

/// A notification as intake sends it: nobody posted it but Apple.
func notified(_ jws: String) -> SubmissionMessage {
    var submission = SubmissionFixture.make(.serverNotification, jws)
    submission.account = ""
    return submission
}

extension Stage {
    /// What becomes of a notification that the simulator plays.
    func finding(
        _ type: String, _ subtype: String? = nil, in environment: AppStoreEnvironment = .production,
        override: String = "{}", isForced: Bool = false, _ setup: Setup = Setup()
    ) async throws -> Finding {
        let told = try await simulator.notification(
            type, subtype, in: environment, override: override, isForced: isForced)
        let finding = try await finding(notified(told.signedPayload), setup)
        #expect(finding.notification?.type ?? type == type)
        return finding
    }

    /// What becomes of an attack on notifications.
    fileprivate func attackedByNotification(_ kind: String) async throws -> Finding {
        let finding = try await finding(notified(try await simulator.attack(kind)))
        // Nothing of a forgery is believed, its type neither.
        if finding.isRejected { #expect(finding.notification == nil) }
        return finding
    }
}

/// The rows of `server notification`.
let notificationScenarios: [String: Scenario] = genuineNotifications.merging(forgedNotifications) { first, _ in first }
    .merging(contradictoryNotifications) { first, _ in first }

private let genuineNotifications: [String: Scenario] = [
    "server notification: about a transaction": { stage in
        let finding = try await stage.finding("ONE_TIME_CHARGE")
        #expect(finding.transactions.count == 1)
        #expect(finding.renewals == [])
        #expect(finding.claims.ids == [], "Apple posts, and nobody claims")
        #expect(finding.notification?.type == "ONE_TIME_CHARGE")
        return finding
    },
    "server notification: about a subscription": { stage in
        let finding = try await stage.finding("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED")
        #expect(finding.transactions.map(\.originalTransactionId) == finding.renewals.map(\.originalTransactionId))
        #expect(finding.renewals.map(\.willRenew) == [false])
        #expect(finding.claims.ids == [])
        return finding
    },
    "server notification: about a subscription's renewal, without a transaction": { stage in
        let finding = try await stage.finding(
            "DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED",
            override: "{\"data.signedTransactionInfo\":null}")
        #expect(finding.transactions == [])
        #expect(finding.renewals.map(\.willRenew) == [false])
        #expect(finding.claims.ids == [])
        return finding
    },
    "server notification: it names no app outside, or none inside": { stage in
        let inside = try await stage.finding(
            "ONE_TIME_CHARGE", override: "{\"data.signedTransactionInfo.bundleId\":null}")
        #expect(inside.transactions.map(\.bundleId) == [SubmissionFixture.app])
        let finding = try await stage.finding("ONE_TIME_CHARGE", override: "{\"data.bundleId\":null}")
        #expect(finding.transactions.map(\.bundleId) == [SubmissionFixture.app])
        return finding
    },
    "server notification: consent was rescinded": { stage in
        let finding = try await stage.finding("RESCIND_CONSENT")
        #expect(finding.rescindedConsents.count == 1)
        #expect(finding.transactions == [])
        return finding
    },
    "server notification: a TEST, a summary or an external purchase token": { stage in
        for (type, subtype) in [("RENEWAL_EXTENSION", "SUMMARY"), ("EXTERNAL_PURCHASE_TOKEN", "CREATED")] {
            let finding = try await stage.finding(type, subtype)
            #expect(finding.name == "genuine")
            #expect(finding.transactions == [] && finding.renewals == [] && finding.rescindedConsents == [])
        }
        let finding = try await stage.finding("TEST")
        #expect(finding.transactions == [])
        return finding
    },
    "server notification: of a type that is not known here": { stage in
        let finding = try await stage.finding("OF_TOMORROW", isForced: true)
        #expect(finding.transactions.count == 1, "what was paid is paid, whatever the type")
        #expect(finding.claims.ids == [] && finding.rescindedConsents == [])
        #expect(finding.notification?.type == "OF_TOMORROW")
        return finding
    },
    "server notification: an appAccountToken in it that is no UUID": { stage in
        let renewal = try await stage.finding(
            "DID_RENEW", override: "{\"data.signedRenewalInfo.appAccountToken\":\"player-7\"}")
        #expect(renewal.reason == "account_token_unreadable")
        return try await stage.finding(
            "ONE_TIME_CHARGE", override: "{\"data.signedTransactionInfo.appAccountToken\":\"player-7\"}")
    },
    "server notification: consent was rescinded, and nobody can read whose": { stage in
        try await stage.finding(
            "RESCIND_CONSENT", override: "{\"appData.signedAppTransactionInfo.appTransactionId\":null}")
    },
    "server notification: sandbox, accepted": { stage in
        let finding = try await stage.finding("SUBSCRIBED", "INITIAL_BUY", in: .sandbox)
        #expect(finding.transactions.map(\.environment) == [.sandbox])
        #expect(finding.renewals.map(\.environment) == [.sandbox])
        let test = try await stage.finding("ONE_TIME_CHARGE", in: .sandbox, Setup(sandbox: "test"))
        #expect(test.transactions.map(\.testPurchase) == [.sandbox])
        return finding
    },
]

private let forgedNotifications: [String: Scenario] = {
    var scenarios: [String: Scenario] = [
        "server notification: more than 256 KiB": { stage in
            try await stage.finding(notified(String(repeating: "x", count: 300_000)))
        },
        "server notification: with a certificate that an operator has denied": { stage in
            let told = try await stage.simulator.notification("DID_RENEW")
            return try await stage.finding(
                notified(told.signedPayload), Setup(denied: [try stage.simulator.root(of: "root")]))
        },
    ]
    for (outcome, code) in signatureChecks {
        scenarios["server notification: \(outcome)"] = { stage in
            try await stage.finding(notified(try await stage.simulator.forgery(refusedAs: code)))
        }
    }
    return scenarios
}()

private let contradictoryNotifications: [String: Scenario] = [
    "server notification: something else that Apple signed": { stage in
        try await stage.attackedByNotification("transaction_as_notification")
    },
    "server notification: a required field is missing": { stage in
        try await stage.finding("TEST", override: "{\"notificationUUID\":null}")
    },
    "server notification: a field that matters is not what it must be": { stage in
        try await stage.finding("TEST", override: "{\"data.appAppleId\":\"mine\"}")
    },
    "server notification: about two things at once": { stage in
        try await stage.finding("ONE_TIME_CHARGE", override: "{\"summary\":{\"environment\":\"Production\"}}")
    },
    "server notification: another app's": { stage in
        try await stage.attackedByNotification("notification_of_another_app")
    },
    "server notification: of the app, with another number than the settings have": { stage in
        try await stage.attackedByNotification("notification_of_another_number")
    },
    "server notification: made by Xcode": { stage in
        try await stage.finding("TEST", override: "{\"data.environment\":\"Xcode\"}")
    },
    "server notification: made for local testing": { stage in
        try await stage.finding("TEST", override: "{\"data.environment\":\"LocalTesting\"}")
    },
    "server notification: an environment that nobody knows": { stage in
        try await stage.finding("TEST", override: "{\"data.environment\":\"Moon\"}")
    },
    "server notification: with a transaction of another app": { stage in
        try await stage.attackedByNotification("nested_transaction_of_another_app")
    },
    "server notification: with a transaction or a renewal of another environment": { stage in
        let renewal = try await stage.finding(
            "DID_RENEW", override: "{\"data.signedRenewalInfo.environment\":\"Sandbox\"}")
        #expect(renewal.reason == "nested_environment_mismatch")
        return try await stage.attackedByNotification("nested_transaction_of_sandbox")
    },
    "server notification: with a transaction that Apple did not sign": { stage in
        try await stage.attackedByNotification("nested_transaction_self_made")
    },
    "server notification: with the renewal of another subscription": { stage in
        try await stage.attackedByNotification("nested_renewal_info_of_another")
    },
    "server notification: with an app transaction of another number": { stage in
        try await stage.finding(
            "RESCIND_CONSENT", override: "{\"appData.signedAppTransactionInfo.appAppleId\":99}")
    },
    "server notification: a TEST that is about something": { stage in
        let sold = try await stage.simulator.sellOne()
        return try await stage.finding(
            "TEST", override: "{\"data.signedTransactionInfo\":\"\(sold.signedTransaction)\"}")
    },
]
