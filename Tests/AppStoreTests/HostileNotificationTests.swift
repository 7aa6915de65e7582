import AppStore
import Foundation
import Testing

@testable import AppStoreSimulator

/// Everything here is signed well; what disagrees is refused, each disagreement with its own code.
@Suite("Hostile notifications")
struct HostileNotificationTests {
    private let store: SimulatedStore

    init() throws { store = try #require(SimulatedStore.shared) }

    private func draft(_ kind: String = "data", _ change: (inout NotificationDraft) -> Void = { _ in })
        -> NotificationDraft
    {
        var draft = NotificationDraft(store: store, kind: kind)
        change(&draft)
        return draft
    }

    @Test("drafts are good before they are spoilt", arguments: ["data", "summary", "externalPurchaseToken", "appData"])
    func good(_ kind: String) throws {
        let notification = try draft(kind).verified().get()
        #expect(notification.environment == .production)
        #expect(notification.unknownFields == [])
        #expect(notification.unreadableFields == [])
    }

    @Test("there is exactly one content")
    func contents() throws {
        #expect(try draft { $0.outer["summary"] = "{}" }.code() == .notificationContent)
        #expect(try draft { $0.outer["appData"] = "[]" }.code() == .notificationContent)
        #expect(try draft { $0.outer["data"] = .some(nil) }.code() == .notificationContent)
        #expect(try draft { $0.outer["data"] = "null" }.code() == .notificationContent)
        #expect(try draft { $0.outer["data"] = "\"text\"" }.code() == .fieldInvalid)
        #expect(try draft { $0.outer["summary"] = "null" }.code() == nil)
    }

    @Test("what a notification needs is missed, and never guessed")
    func fields() throws {
        #expect(try draft { $0.outer["notificationType"] = .some(nil) }.code() == .notANotification)
        #expect(try draft { $0.outer["notificationType"] = "1" }.code() == .fieldInvalid)
        #expect(try draft { $0.outer["notificationUUID"] = .some(nil) }.code() == .fieldMissing)
        #expect(try draft { $0.outer["subtype"] = "1" }.code() == .fieldInvalid)
        #expect(try draft { $0.outer["signedDate"] = .some(nil) }.code() == .payloadUnreadable)
        #expect(try draft("summary") { $0.content["bundleId"] = .some(nil) }.code() == .fieldMissing)
        #expect(try draft { $0.content["environment"] = .some(nil) }.code() == .fieldMissing)
        #expect(try draft { $0.content["appAppleId"] = "\"1\"" }.code() == .fieldInvalid)
        #expect(try draft { $0.content["signedTransactionInfo"] = "{}" }.code() == .fieldInvalid)
        #expect(try draft("summary") { $0.content["requestIdentifier"] = .some(nil) }.code() == .fieldMissing)
        #expect(
            try draft("externalPurchaseToken") { $0.content["tokenCreationDate"] = "\"now\"" }.code() == .fieldInvalid)
    }

    @Test("environments that are no store's are refused, outside and inside")
    func environments() throws {
        let refused: [(String, RejectionCode)] = [
            ("\"Xcode\"", .environmentXcode), ("\"LocalTesting\"", .environmentLocalTesting),
            ("\"Staging\"", .environmentUnknown),
        ]
        for (value, code) in refused {
            #expect(try draft { $0.content["environment"] = value }.code() == code)
            #expect(try draft("summary") { $0.content["environment"] = value }.code() == code)
            #expect(try draft { $0.transaction?["environment"] = value }.code() == code)
            #expect(try draft { $0.renewalInfo?["environment"] = value }.code() == code)
            #expect(try draft("appData") { $0.appTransaction["receiptType"] = value }.code() == code)
        }
    }

    @Test("another app's notification is refused, by name and in production by number")
    func otherApp() throws {
        for kind in ["data", "summary", "externalPurchaseToken", "appData"] {
            let other = draft(kind) { $0.content["bundleId"] = "\"com.example.other\"" }
            #expect(try other.code() == .bundleMismatch)
            for number in ["1234567891", nil] as [String?] {
                let disguised = draft(kind) { $0.content["appAppleId"] = .some(number) }
                #expect(try disguised.code() == .appAppleIdMismatch, "\(kind)")
            }
        }
        // Who does not know the app's number cannot check it; in the sandbox Apple does not promise it.
        let unnumbered = AppIdentity(bundleId: "com.example.game")
        #expect(try draft { $0.content["appAppleId"] = "7" }.code(by: unnumbered) == nil)
        let sandbox = draft {
            $0.content = ["appAppleId": nil, "environment": "\"Sandbox\""]
            $0.transaction = ["environment": "\"Sandbox\""]
            $0.renewalInfo = ["environment": "\"Sandbox\""]
        }
        #expect(try sandbox.verified().get().environment == .sandbox)
    }

    @Test("what is inside is of the same app")
    func nestedApp() throws {
        let bundle = "\"com.example.other\""
        #expect(try draft { $0.transaction?["bundleId"] = bundle }.code() == .nestedBundleMismatch)
        #expect(try draft("appData") { $0.appTransaction["bundleId"] = bundle }.code() == .nestedBundleMismatch)
        for number in ["7", nil] as [String?] {
            let disguised = draft("appData") { $0.appTransaction["appAppleId"] = .some(number) }
            #expect(try disguised.code() == .nestedAppAppleIdMismatch)
        }
        let disguised = draft("appData") { $0.appTransaction["appAppleId"] = "7" }
        #expect(try disguised.code(by: AppIdentity(bundleId: "com.example.game")) == .nestedAppAppleIdMismatch)
    }

    @Test("one of the outside and the inside says whose it is")
    func missingBundleId() throws {
        let outside = try draft { $0.content["bundleId"] = .some(nil) }.verified().get()
        #expect(outside.bundleId == NotificationDraft.app.bundleId)
        let inside = try draft { $0.transaction?["bundleId"] = .some(nil) }.verified().get()
        #expect(inside.bundleId == NotificationDraft.app.bundleId)
        let neither = draft {
            $0.content["bundleId"] = .some(nil)
            $0.transaction?["bundleId"] = .some(nil)
        }
        #expect(try neither.code() == .bundleIdMissing)
        let other = draft {
            $0.content["bundleId"] = .some(nil)
            $0.transaction?["bundleId"] = "\"com.example.other\""
        }
        #expect(try other.code() == .nestedBundleMismatch)
        let unnamed = draft {
            $0.content["bundleId"] = .some(nil)
            $0.transaction = nil
        }
        #expect(try unnamed.code() == .fieldMissing)
    }

    @Test("what is inside is of the same environment, and says so")
    func nestedEnvironment() throws {
        for value in ["\"Sandbox\"", nil] as [String?] {
            let code = RejectionCode.nestedEnvironmentMismatch
            #expect(try draft { $0.transaction?["environment"] = .some(value) }.code() == code)
            #expect(try draft { $0.renewalInfo?["environment"] = .some(value) }.code() == code)
        }
        let download = draft("appData") { $0.appTransaction["receiptType"] = "\"Sandbox\"" }
        #expect(try download.code() == .nestedEnvironmentMismatch)
        let downgraded = draft { $0.content["environment"] = "\"Sandbox\"" }
        #expect(try downgraded.code() == .nestedEnvironmentMismatch)
    }

    @Test("renewal info is of the transaction's subscription")
    func renewalInfo() throws {
        let other = draft { $0.renewalInfo?["originalTransactionId"] = "\"2000000000000002\"" }
        #expect(try other.code() == .renewalInfoMismatch)
        let alone = try draft { $0.transaction = nil }.verified().get()
        guard case .data(let data) = alone.content else { throw SignedDataRejection(.notificationContent, "no data") }
        #expect(data.transaction == nil)
        #expect(data.renewalInfo?.originalTransactionId == "2000000000000001", "Apple may send it alone")
        #expect(try draft { $0.renewalInfo = nil }.code() == nil)
        #expect(try draft { $0.renewalInfo?["autoRenewStatus"] = "true" }.code() == nil)
    }

    @Test("a field holds what belongs in it, and nothing else that is signed")
    func swapped() throws {
        func quoted(_ payload: String) throws -> String {
            "\"\(String(decoding: try store.sign(payload), as: UTF8.self))\""
        }
        let transaction = try quoted(SimulatedStore.payload())
        let info = try quoted(NotificationDraft.renewalInfo())
        #expect(try draft { $0.content["signedTransactionInfo"] = info }.code() == .notATransaction)
        #expect(try draft { $0.content["signedRenewalInfo"] = transaction }.code() == .notRenewalInfo)
        let download = draft("appData") { $0.content["signedAppTransactionInfo"] = transaction }
        #expect(try download.code() == .notAnAppTransaction)
    }

    @Test("what is inside is verified as if it came alone")
    func nestedSignature() throws {
        let other = try SimulatedStore()
        let stranger = String(decoding: try other.sign(SimulatedStore.payload()), as: UTF8.self)
        let refused = draft { $0.content["signedTransactionInfo"] = "\"\(stranger)\"" }
        #expect(try refused.code() == .rootNotTrusted)
        guard case .failure(let rejection) = try refused.verified() else { return }
        #expect(rejection.detail.hasPrefix("signedTransactionInfo: "))
        var broken = try store.sign(NotificationDraft.renewalInfo())
        broken[broken.count - 10] ^= 1
        let text = String(decoding: broken, as: UTF8.self)
        let invalid = try draft { $0.content["signedRenewalInfo"] = "\"\(text)\"" }.code()
        #expect(invalid == .signatureInvalid || invalid == .notAJWS)
        for text in ["", "a.b.c", "{}"] {
            #expect(try draft { $0.content["signedRenewalInfo"] = "\"\(text)\"" }.code() == .notAJWS)
        }
    }

    @Test("a TEST is about nothing")
    func test() throws {
        let empty = draft {
            $0.type = "TEST"
            $0.transaction = nil
            $0.renewalInfo = nil
        }
        #expect(try empty.code() == nil)
        #expect(try draft { $0.type = "TEST" }.code() == .nestedInTest)
        #expect(try draft("appData") { $0.type = "TEST" }.code() == .nestedInTest)
    }

    @Test("an external purchase token's id says its environment")
    func externalPurchaseToken() throws {
        let sandbox = draft("externalPurchaseToken") {
            $0.content["externalPurchaseId"] = "\"SANDBOX_b2158121\""
            $0.content["appAppleId"] = .some(nil)
        }
        #expect(try sandbox.verified().get().environment == .sandbox)
        #expect(try draft("externalPurchaseToken").verified().get().environment == .production)
        let pretended = draft("externalPurchaseToken") { $0.content["environment"] = "\"Sandbox\"" }
        #expect(try pretended.verified().get().environment == .production)
        #expect(try pretended.verified().get().unknownFields == ["externalPurchaseToken.environment"])
    }
}
