import AppStore
import Foundation

@testable import AppStoreSimulator

/// A good notification, renewal info or app transaction to spoil: every value as it is written in JSON.
struct NotificationDraft {
    static let app = AppIdentity(bundleId: "com.example.game", appAppleId: 1_234_567_890)
    static let milliseconds = Int64(SimulatedStore.now.timeIntervalSince1970 * 1_000)

    let store: SimulatedStore
    var type = "DID_RENEW"
    /// Which of the four contents.
    var kind = "data"
    /// Changes of the content's fields.
    var content: [String: String?] = [:]
    /// Changes of the fields around it.
    var outer: [String: String?] = [:]
    /// Changes of the transaction's fields; nil for no transaction.
    var transaction: [String: String?]? = [:]
    /// Changes of the renewal info's fields; nil for no renewal info.
    var renewalInfo: [String: String?]? = [:]
    /// Changes of the app transaction's fields.
    var appTransaction: [String: String?] = [:]

    static func renewalInfo(_ changes: [String: String?] = [:]) -> String {
        var fields: [(String, String?)] = [
            ("originalTransactionId", "\"2000000000000001\""), ("autoRenewProductId", "\"basic\""),
            ("productId", "\"basic\""), ("autoRenewStatus", "1"), ("signedDate", "\(milliseconds)"),
            ("environment", "\"Production\""), ("renewalDate", "\(milliseconds)"),
        ]
        return SimulatedStore.object(&fields, changes)
    }

    static func appTransaction(_ changes: [String: String?] = [:]) -> String {
        var fields: [(String, String?)] = [
            ("receiptType", "\"Production\""), ("appAppleId", "1234567890"), ("bundleId", "\"com.example.game\""),
            ("applicationVersion", "\"7\""), ("receiptCreationDate", "\(milliseconds)"),
            ("originalPurchaseDate", "1600000000000"), ("originalApplicationVersion", "\"1\""),
            ("appTransactionId", "\"704897469903383919\""), ("originalPlatform", "\"iOS\""),
        ]
        return SimulatedStore.object(&fields, changes)
    }

    func signed() throws -> [UInt8] {
        var fields: [(String, String?)] = [
            ("notificationType", "\"\(type)\""), ("notificationUUID", "\"6a8251d2-425d-49a3-81b6-517cefc4a5ea\""),
            (kind, try contentText()), ("version", "\"2.0\""), ("signedDate", "\(Self.milliseconds)"),
        ]
        return try store.sign(SimulatedStore.object(&fields, outer))
    }

    private func contentText() throws -> String {
        var fields: [(String, String?)] = [
            ("appAppleId", "1234567890"), ("bundleId", "\"com.example.game\""), ("environment", "\"Production\""),
        ]
        switch kind {
        case "data":
            fields += [
                ("signedTransactionInfo", try transaction.map { try quoted(SimulatedStore.payload($0)) }),
                ("signedRenewalInfo", try renewalInfo.map { try quoted(Self.renewalInfo($0)) }),
            ]
        case "appData":
            fields.append(("signedAppTransactionInfo", try quoted(Self.appTransaction(appTransaction))))
        case "summary":
            fields += [("productId", "\"basic\""), ("requestIdentifier", "\"r\""), ("succeededCount", "5")]
        default:
            fields.removeLast()
            fields += [("externalPurchaseId", "\"b2158121\""), ("tokenCreationDate", "1000")]
        }
        return SimulatedStore.object(&fields, content)
    }

    private func quoted(_ payload: String) throws -> String {
        "\"\(String(decoding: try store.sign(payload), as: UTF8.self))\""
    }

    /// What the verifier says of it.
    func verified(by app: AppIdentity = Self.app) throws -> Result<SignedNotification, SignedDataRejection> {
        store.verifier.notification(try signed(), app: app)
    }

    /// Why the verifier refuses it; nil when it does not.
    func code(by app: AppIdentity = Self.app) throws -> RejectionCode? {
        rejection(try verified(by: app))
    }
}
