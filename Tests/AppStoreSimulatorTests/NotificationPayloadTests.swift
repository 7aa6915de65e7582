import AppStore
import Foundation
import HTTPTypes
import HummingbirdTesting
import Testing
import VectorTesting

@testable import AppStoreSimulator

@Suite("Notifications: payloads")
struct NotificationPayloadTests {
    @Test("a notification about a subscription has Apple's fields in Apple's order, signed inside and outside")
    func subscription() async throws {
        try await NotificationDesk.with { desk in
            let id = try await desk.store.change { state, now in
                try state.buy(
                    Purchase(
                        bundleId: NotificationDesk.bundleId, productId: "\(NotificationDesk.bundleId).basic",
                        environment: .sandbox, accountId: "alice"), now: now
                ).transaction?.transactionId ?? ""
            }
            try await desk.store.change { state, now in
                state.notify(.consumptionRequest, transactionId: id, reason: "OTHER", now: now)
            }
            let row = try #require(await desk.notifications().last)
            let payload = try desk.verified(row.signedPayload)
            // As in the CONSUMPTION_REQUEST that Apple signed in October 2025.
            #expect(
                payload.names == ["notificationType", "notificationUUID", "data", "version", "signedDate"])
            #expect(
                payload["data"]?.names == [
                    "appAppleId", "bundleId", "bundleVersion", "environment", "signedTransactionInfo",
                    "signedRenewalInfo", "status", "consumptionRequestReason",
                ])
            #expect(payload["version"]?.string == "2.0")
            #expect(payload["signedDate"]?.number == desk.store.clock.now)
            #expect(payload["notificationUUID"]?.string == row.id)
            #expect(payload.at("data.status")?.number == 1)
            for name in ["signedTransactionInfo", "signedRenewalInfo"] {
                let inner = try desk.verified(try #require(payload["data"]?[name]?.string))
                #expect(inner["originalTransactionId"]?.string == id)
                #expect(inner["environment"]?.string == "Sandbox")
            }
            let first = try desk.verified(try #require(await desk.notifications().first).signedPayload)
            #expect(
                first.names == ["notificationType", "subtype", "notificationUUID", "data", "version", "signedDate"])
        }
    }

    @Test(
        "a notification has the fields of a genuine one",
        .enabled(if: Vectors.areAvailable, Comment(rawValue: Vectors.skipped)))
    func genuine() async throws {
        try await NotificationDesk.with { desk in
            _ = try await desk.control(
                .post, "trigger",
                #"{"notificationType":"EXPIRED","subtype":"VOLUNTARY","environment":"Sandbox"}"#)
            let row = try #require(await desk.notifications().last)
            let ours = try #require(DecodedNotification.document(of: row.signedPayload))
            let vectors = Vectors.genuine.filter { $0.file.contains("notification-v2-expired-voluntary-") }
            try #require(!vectors.isEmpty)
            for vector in vectors {
                let genuine = try #require(DecodedNotification.document(of: try vector.text))
                #expect(ours.names == genuine.names)
                #expect(ours["data"]?.names == genuine["data"]?.names)
                for name in ["data.signedTransactionInfo", "data.signedRenewalInfo"] {
                    // The genuine product had no win-back offers.
                    let names = ours.at(name)?.names.filter { $0 != "eligibleWinBackOfferIds" }
                    #expect(names == genuine.at(name)?.names)
                }
            }
        }
    }

    @Test("a test notification has no transaction, and in the sandbox no app number")
    func test() async throws {
        try await NotificationDesk.with { desk in
            for environment in StoreEnvironment.allCases {
                let token = try await desk.store.change { state, now in
                    state.notifyTest(
                        try #require(state.apps[NotificationDesk.bundleId]), environment: environment, now: now)
                }
                let row = try #require(
                    await desk.store.read {
                        $0.testNotification(token, bundleId: NotificationDesk.bundleId, environment: environment)
                    })
                let payload = try desk.verified(row.signedPayload)
                #expect(payload["notificationType"]?.string == "TEST")
                let names = environment == .sandbox ? [] : ["appAppleId"]
                #expect(payload["data"]?.names == names + ["bundleId", "environment"])
                let other: StoreEnvironment = environment == .sandbox ? .production : .sandbox
                let stranger = await desk.store.read {
                    $0.testNotification(token, bundleId: NotificationDesk.bundleId, environment: other)
                }
                #expect(stranger == nil)
            }
        }
    }

    @Test("an app that keeps no notifications has none; one without a URL keeps what nobody is sent")
    func keeping() async throws {
        try await NotificationDesk.with { desk in
            try await desk.buyCoins()
            #expect(await desk.notifications().first?.nextAttemptDate == nil)
            try await desk.store.change { state, _ in
                var app = state.ensureApp(NotificationDesk.bundleId)
                app.keepsNotifications = false
                state.put(app)
            }
            try await desk.buyCoins()
            #expect(await desk.notifications().count == 1)
        }
    }
}
