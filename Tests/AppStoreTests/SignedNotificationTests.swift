import AppStore
import Foundation
import Testing

@testable import AppStoreSimulator

@Suite("Signed notifications")
struct SignedNotificationTests {
    /// A type with a subtype, as the simulator plays it.
    struct Case: CustomTestStringConvertible, Sendable {
        let type: String
        let subtype: String?
        var testDescription: String { "\(type)/\(subtype ?? "-")" }
    }

    static let cases = TriggerKind.all.map { Case(type: $0.type.rawValue, subtype: $0.subtype?.rawValue) }

    @Test("all 23 types that the simulator sends verify, with what is in them", arguments: cases)
    func every(_ expected: Case) async throws {
        let authority = try #require(SimulatedStore.shared).authority
        let roots = try #require(SimulatedStore.shared).roots
        let store = try Store(file: nil, signer: try PayloadSigner(chain: authority.chain), clock: VirtualClock())
        for environment in [StoreEnvironment.production, .sandbox] {
            let trigger = try Trigger(
                type: expected.type, subtype: expected.subtype, bundleId: "com.example.game",
                environment: environment, account: nil, overrides: [], isForced: false)
            let rows = try await store.change { state, now in try trigger.perform(in: &state, now: now) }
            let number = await store.read { $0.apps["com.example.game"]?.appAppleId }
            let app = AppIdentity(bundleId: "com.example.game", appAppleId: number)
            #expect(!rows.isEmpty)
            for row in rows {
                let verifier = SignedDataVerifier(roots: roots)
                let notification = try verifier.notification(Array(row.signedPayload.utf8), app: app).get()
                #expect(notification.notificationType.rawValue == row.notificationType)
                #expect(notification.subtype?.rawValue == row.subtype)
                #expect(notification.notificationUUID == row.notificationUUID)
                #expect(notification.environment.rawValue == environment.rawValue)
                #expect(notification.unknownFields == [])
                #expect(notification.unreadableFields == [])
                try checkContent(notification, row)
            }
            #expect(rows.contains { $0.notificationType == expected.type && $0.subtype == expected.subtype })
        }
        await store.close()
    }

    private func checkContent(_ notification: SignedNotification, _ row: NotificationRecord) throws {
        switch notification.content {
        case .data(let data):
            #expect(data.transaction?.transactionId == row.transactionId)
            #expect(data.transaction?.unknownFields ?? [] == [])
            #expect(data.renewalInfo?.unknownFields ?? [] == [])
            #expect(data.renewalInfo?.unreadableFields ?? [] == [])
            #expect((data.renewalInfo != nil) == (data.status != nil))
            #expect((data.transaction == nil) == (notification.notificationType == .test))
        case .summary(let summary):
            #expect(notification.subtype == .summary)
            #expect(!summary.requestIdentifier.isEmpty)
        case .externalPurchaseToken(let token):
            #expect(notification.notificationType == .externalPurchaseToken)
            #expect(token.externalPurchaseId.hasPrefix("SANDBOX") == (notification.environment == .sandbox))
        case .appData(let appData):
            #expect(notification.notificationType == .rescindConsent)
            #expect(try #require(appData.appTransaction).unknownFields == [])
        }
    }

    @Test("the simulator has all the types that this module names, and no other")
    func types() {
        #expect(Set(Self.cases.map(\.type)).count == 23)
    }

    @Test("what Apple adds tomorrow is kept, not refused; what cannot be read is named")
    func tomorrow() throws {
        var draft = NotificationDraft(store: try #require(SimulatedStore.shared), type: "MIGRATE")
        draft.outer = ["subtype": "\"LATER\"", "zebra": "1", "version": "3"]
        draft.content = ["status": "6", "consumptionRequestReason": "\"NEW\"", "aardvark": "{}", "bundleVersion": "7"]
        let notification = try draft.verified().get()
        #expect(notification.notificationType == .migrate)
        #expect(notification.subtype?.rawValue == "LATER")
        #expect(notification.unknownFields == ["zebra", "data.aardvark"])
        #expect(notification.unreadableFields == ["version", "data.bundleVersion"])
        guard case .data(let data) = notification.content else {
            Issue.record("no data")
            return
        }
        #expect(data.status?.rawValue == 6)
        #expect(data.consumptionRequestReason?.rawValue == "NEW")
        #expect(String(decoding: notification.payload, as: UTF8.self).contains("\"aardvark\":{}"))
    }

    @Test("contents without a transaction are read field by field")
    func contents() throws {
        let store = try #require(SimulatedStore.shared)
        var draft = NotificationDraft(store: store, type: "RENEWAL_EXTENSION", kind: "summary")
        draft.content = ["storefrontCountryCodes": "[\"CAN\",\"USA\"]", "failedCount": "2"]
        guard case .summary(let summary) = try draft.verified().get().content else {
            Issue.record("no summary")
            return
        }
        #expect(summary.storefrontCountryCodes == ["CAN", "USA"])
        #expect(summary.succeededCount == 5 && summary.failedCount == 2)
        #expect(summary.productId == "basic" && summary.requestIdentifier == "r")

        draft = NotificationDraft(store: store, type: "EXTERNAL_PURCHASE_TOKEN", kind: "externalPurchaseToken")
        draft.content = ["tokenType": "\"SERVICES\"", "tokenExpirationDate": "2000"]
        guard case .externalPurchaseToken(let token) = try draft.verified().get().content else {
            Issue.record("no token")
            return
        }
        #expect(token.externalPurchaseId == "b2158121" && token.tokenType == "SERVICES")
        #expect(token.tokenCreationDate == Date(timeIntervalSince1970: 1))
        #expect(token.tokenExpirationDate == Date(timeIntervalSince1970: 2))
    }
}
