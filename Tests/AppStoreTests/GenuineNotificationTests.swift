import AppStore
import Foundation
import Testing
import VectorTesting

/// Notifications and renewal infos that Apple signed must verify, with all that is in them, and say what they say.
@Suite("Genuine notifications", .enabled(if: Vectors.areAvailable, Comment(rawValue: Vectors.skipped)))
struct GenuineNotificationTests {
    static let notifications = Vectors.genuine.filter { $0.kind == "notification-v2" }
    static let renewalInfos = Vectors.genuine.filter { $0.kind == "renewal-info" }

    /// What the index says of a notification's `data`.
    struct ExpectedData: Decodable {
        struct Part: Decodable {
            let transactionId: String?
            let originalTransactionId: String
            let productId: String
            let bundleId: String?
            let environment: String
            let expiresDate: Double?
            let autoRenewStatus: Int64?
        }

        let appAppleId: Int64?
        let bundleId: String
        let bundleVersion: String?
        let environment: String
        let status: Int64?
        let consumptionRequestReason: String?
        let signedTransactionInfo: Part?
        let signedRenewalInfo: Part?
    }

    /// By file.
    static let data: [String: ExpectedData] = {
        struct Row: Decodable {
            struct Expected: Decodable { let data: ExpectedData? }
            let file: String
            let expected: Expected?
            enum CodingKeys: CodingKey { case file, expected }

            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: CodingKeys.self)
                file = try container.decode(String.self, forKey: .file)
                // The index describes receipts as well, in other words.
                expected = try? container.decode(Expected.self, forKey: .expected)
            }
        }
        struct Index: Decodable { let vectors: [Row] }
        guard let json = try? Data(contentsOf: Vectors.folder.appendingPathComponent("index.json")),
            let index = try? JSONDecoder().decode(Index.self, from: json)
        else { return [:] }
        return Dictionary(
            index.vectors.compactMap { row in row.expected?.data.map { (row.file, $0) } }, uniquingKeysWith: { $1 })
    }()

    private let verifier = SignedDataVerifier(roots: .appleRootG3)

    @Test("the index lists as many as it did when these tests were written")
    func nothingIsMissing() {
        #expect(Self.notifications.count >= 10)
        #expect(Self.renewalInfos.count >= 3)
    }

    @Test("a notification verifies, outer and inner, and says what the index says", arguments: notifications)
    func notification(_ vector: Vectors.Vector) throws {
        let expected = vector.expected
        let inner = try #require(Self.data[vector.file])
        let app = AppIdentity(bundleId: inner.bundleId, appAppleId: 1_470_168_868)
        let notification = try verifier.notification(try vector.jws, app: app).get()

        #expect(notification.notificationType.rawValue == expected.notificationType)
        #expect(notification.subtype?.rawValue == expected.subtype)
        #expect(notification.notificationUUID == expected.notificationUUID)
        #expect(milliseconds(notification.signedDate) == expected.signedDate)
        #expect(notification.version == "2.0")
        #expect(notification.bundleId == inner.bundleId)
        #expect(notification.environment.rawValue == inner.environment)
        #expect(notification.appAppleId == inner.appAppleId)
        #expect(notification.unknownFields == [])
        #expect(notification.unreadableFields == [])
        guard case .data(let data) = notification.content else {
            Issue.record("no data")
            return
        }
        #expect(data.status?.rawValue == inner.status)
        #expect(data.bundleVersion == inner.bundleVersion)
        #expect(data.consumptionRequestReason?.rawValue == inner.consumptionRequestReason)
        guard notification.notificationType != .test else {
            #expect(data.transaction == nil && data.renewalInfo == nil)
            return
        }
        let transaction = try #require(data.transaction)
        let renewalInfo = try #require(data.renewalInfo)
        let sold = try #require(inner.signedTransactionInfo)
        let renews = try #require(inner.signedRenewalInfo)
        #expect(transaction.transactionId == sold.transactionId)
        #expect(transaction.originalTransactionId == sold.originalTransactionId)
        #expect(transaction.productId == sold.productId)
        #expect(transaction.bundleId == sold.bundleId)
        #expect(transaction.environment?.rawValue == sold.environment)
        #expect(milliseconds(transaction.expiresDate) == sold.expiresDate)
        #expect(transaction.signedDate == notification.signedDate)
        #expect(renewalInfo.originalTransactionId == renews.originalTransactionId)
        #expect(renewalInfo.productId == renews.productId)
        #expect(renewalInfo.autoRenewStatus?.rawValue == renews.autoRenewStatus)
        #expect(renewalInfo.environment?.rawValue == renews.environment)
        #expect(renewalInfo.signedDate == notification.signedDate)
        #expect(renewalInfo.appTransactionId == transaction.appTransactionId)
        #expect(transaction.unknownFields + renewalInfo.unknownFields == [])
        #expect(transaction.unreadableFields + renewalInfo.unreadableFields == [])
        // Outer and inner came with the same header.
        #expect(verifier.chainsCached == 1)
    }

    @Test("a renewal info verifies and says what the index says", arguments: renewalInfos)
    func renewalInfo(_ vector: Vectors.Vector) throws {
        let expected = vector.expected
        let id = try #require(expected.originalTransactionId)
        let info = try verifier.renewalInfo(try vector.jws, originalTransactionId: id).get()
        #expect(info.originalTransactionId == id)
        #expect(info.productId == expected.productId)
        #expect(info.autoRenewProductId == expected.autoRenewProductId)
        #expect(info.autoRenewStatus?.rawValue == expected.autoRenewStatus)
        #expect(info.environment?.rawValue == expected.environment)
        #expect(milliseconds(info.signedDate) == expected.signedDate)
        #expect(info.unknownFields == [])
        #expect(info.unreadableFields == [])
        let other = verifier.renewalInfo(try vector.jws, originalTransactionId: id + "0")
        #expect(rejection(other) == .renewalInfoMismatch)
    }

    @Test("why a refund is asked for is read, and another plan that renews")
    func consumptionRequest() throws {
        let vector = try #require(Self.notifications.first { $0.name.hasSuffix("580592.jws") })
        let app = AppIdentity(bundleId: "com.loki-project.loki-messenger")
        let notification = try verifier.notification(try vector.jws, app: app).get()
        guard case .data(let data) = notification.content else {
            Issue.record("no data")
            return
        }
        #expect(notification.notificationType == .consumptionRequest)
        #expect(data.consumptionRequestReason == .unintendedPurchase)
        #expect(data.bundleVersion == "637")
        #expect(data.status == .active)
        #expect(data.transaction?.productId == "com.getsession.org.pro_sub")
        #expect(data.renewalInfo?.productId == "com.getsession.org.pro_sub_3_months")
        #expect(data.renewalInfo?.autoRenewStatus == .on)
        #expect(data.renewalInfo?.renewalPrice == 5_990)
        #expect(data.renewalInfo?.currency == "AUD")
        #expect(milliseconds(data.renewalInfo?.renewalDate) == 1_760_592_314_000)
        #expect(milliseconds(data.renewalInfo?.recentSubscriptionStartDate) == 1_760_591_774_000)
    }

    @Test("nothing is taken for what it is not", arguments: Vectors.genuine)
    func kinds(_ vector: Vectors.Vector) throws {
        let jws = try vector.jws
        let app = AppIdentity(bundleId: vector.expected.bundleId ?? "com.example")
        #expect(rejection(verifier.appTransaction(jws, app: app)) == .notAnAppTransaction)
        if vector.kind != "notification-v2" {
            #expect(rejection(verifier.notification(jws, app: app)) == .notANotification)
        }
        if vector.kind != "renewal-info" {
            let id = vector.expected.originalTransactionId ?? "1"
            #expect(rejection(verifier.renewalInfo(jws, originalTransactionId: id)) == .notRenewalInfo)
        }
    }

    @Test("a genuine notification of another app is refused", arguments: notifications)
    func otherApp(_ vector: Vectors.Vector) throws {
        let result = verifier.notification(try vector.jws, app: AppIdentity(bundleId: "com.example"))
        #expect(rejection(result) == .bundleMismatch)
    }
}
