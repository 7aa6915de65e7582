import ChanceTesting
import Crypto
import Foundation

/// Payloads that are signed well, and whose fields say what Apple never said: the same for the same seed.
///
/// They are written as text, for an encoder writes neither a name twice nor half a surrogate pair.
struct HostilePayloads {
    /// What an app posts, or what Apple would.
    enum Payload: Sendable {
        /// A signed transaction.
        case transaction(String)
        /// A `signedPayload`.
        case notification(String)
    }

    /// One of them, with what was signed, for whoever looks into what it did.
    struct Sample: Sendable {
        let payload: Payload
        /// What was changed, such as `transaction.price=1e308`.
        let changes: [String]
    }

    private typealias Field = (name: String, value: String)

    private let signer: StoreSigner
    private let bundleId: String
    private let appAppleId: Int64
    private var random: SplitMix
    private var lastId: Int64
    private let now = Int64(Date().timeIntervalSince1970 * 1_000)
    private var changes: [String] = []

    /// - Parameters:
    ///   - stack: whose simulated store signs.
    ///   - seed: also where transaction ids begin, so that another run has others.
    init(_ stack: Stack, bundleId: String, appAppleId: Int64, seed: UInt64) throws {
        signer = try StoreSigner(stack)
        (self.bundleId, self.appAppleId) = (bundleId, appAppleId)
        random = SplitMix(seed: seed)
        lastId = 700_000_000_000_000_000 + Int64(seed % 1_000_000) * 10_000_000
    }

    /// Another one.
    mutating func next() throws -> Sample {
        changes = []
        // A good one once in a while: what follows a hostile one in its batch must still come through.
        let count = Self.changesOf[Int.random(in: 0..<Self.changesOf.count, using: &random)]
        let isTransaction = Bool.random(using: &random)
        let payload: Payload =
            isTransaction
            ? .transaction(try sign(transaction(), "transaction", count))
            : .notification(try notification(count))
        return Sample(payload: payload, changes: changes)
    }

    /// A transaction as Apple signs it, with other text in place of its last brace.
    mutating func transaction(followedBy text: String) throws -> String {
        // A token that nobody registered would make the order wait.
        let fields = transaction().filter { $0.name != "appAccountToken" }.map { "\"\($0.name)\":\($0.value)" }.joined(
            separator: ",")
        return try signer.sign("{\(fields)\(text)")
    }

    private static let changesOf = [0, 1, 1, 1, 1, 1, 1, 2, 2, 3]

    private mutating func pick<Value>(_ values: [Value]) -> Value {
        values[Int.random(in: 0..<values.count, using: &random)]
    }

    private mutating func sign(_ fields: [Field], _ path: String, _ count: Int) throws -> String {
        try signer.sign(text(fields, path, count))
    }

    private mutating func transaction() -> [Field] {
        lastId += 1
        let (type, product) = pick([
            ("Consumable", "gems.100"), ("Non-Consumable", "pro"), ("Auto-Renewable Subscription", "vip.short"),
        ])
        var fields: [Field] = [
            ("transactionId", "\"\(lastId)\""), ("originalTransactionId", "\"\(lastId)\""),
            ("bundleId", "\"\(bundleId)\""), ("productId", "\"\(product)\""), ("purchaseDate", "\(now)"),
            ("originalPurchaseDate", "\(now)"), ("quantity", "1"), ("type", "\"\(type)\""),
            ("inAppOwnershipType", "\"PURCHASED\""), ("signedDate", "\(now)"), ("environment", "\"Production\""),
            ("transactionReason", "\"PURCHASE\""), ("storefront", "\"USA\""), ("storefrontId", "\"143441\""),
            ("price", "990"), ("currency", "\"USD\""), ("appTransactionId", "\"7\(lastId)\""),
        ]
        // Of a token that nobody registered an order waits, and is not granted.
        if Int.random(in: 0..<10, using: &random) == 0 {
            fields.append(("appAccountToken", "\"\(UUID(uuid: token()).uuidString.lowercased())\""))
        }
        if product == "vip.short" {
            fields += [
                ("webOrderLineItemId", "\"9\(lastId)\""), ("expiresDate", "\(now + 3_600_000)"),
                ("subscriptionGroupIdentifier", "\"group\""),
            ]
        }
        return fields
    }

    private mutating func token() -> uuid_t {
        let (high, low) = (random.next(), random.next())
        return withUnsafeBytes(of: (high, low)) { $0.loadUnaligned(as: uuid_t.self) }
    }

    private mutating func notification(_ count: Int) throws -> String {
        let place = pick(["notification", "data", "transaction", "renewalInfo"])
        func changes(_ path: String) -> Int { path == place ? count : 0 }
        let transaction = transaction()
        let isSubscription = transaction.contains { $0.name == "webOrderLineItemId" }
        let type = pick(Self.notificationTypes)
        var data: [Field] = [
            ("appAppleId", "\(appAppleId)"), ("bundleId", "\"\(bundleId)\""), ("bundleVersion", "\"1\""),
            ("environment", "\"Production\""),
        ]
        if type != "TEST" {
            data.append(
                ("signedTransactionInfo", "\"\(try sign(transaction, "transaction", changes("transaction")))\""))
        }
        if isSubscription, type != "TEST" {
            let info: [Field] = [
                ("originalTransactionId", "\"\(lastId)\""), ("autoRenewProductId", "\"vip.short\""),
                ("productId", "\"vip.short\""), ("autoRenewStatus", "1"), ("renewalPrice", "990"),
                ("currency", "\"USD\""), ("signedDate", "\(now)"), ("environment", "\"Production\""),
                ("recentSubscriptionStartDate", "\(now)"), ("renewalDate", "\(now + 3_600_000)"),
            ]
            data.append(("signedRenewalInfo", "\"\(try sign(info, "renewalInfo", changes("renewalInfo")))\""))
            data.append(("status", "1"))
        }
        let fields: [Field] = [
            ("notificationType", "\"\(type)\""), ("subtype", pick(Self.subtypes)),
            ("notificationUUID", "\"\(UUID(uuid: token()).uuidString.lowercased())\""), ("version", "\"2.0\""),
            ("signedDate", "\(now)"), ("data", text(data, "data", changes("data"))),
        ]
        return try sign(fields, "notification", changes("notification"))
    }

    /// An object with so many of its fields made hostile.
    private mutating func text(_ fields: [Field], _ path: String, _ count: Int) -> String {
        var fields = fields
        for _ in 0..<count {
            let name = pick(fields.map(\.name) + (Self.moreNames[path] ?? []))
            // Of ids, too: whatever draws the same one speaks of the same purchase, lineage, line item or customer.
            let value = pick(Self.values)
            let index = fields.firstIndex { $0.name == name }
            switch Int.random(in: 0..<8, using: &random) {
            case 0:
                fields.removeAll { $0.name == name }
                note(path, "-\(name)")
            case 1:
                // The same once more: as it was, or otherwise.
                fields.append((name, Bool.random(using: &random) ? index.map { fields[$0].value } ?? value : value))
                note(path, "\(name) twice")
            default:
                if let index { fields[index].value = value } else { fields.append((name, value)) }
                note(path, "\(name)=\(value)")
            }
        }
        return "{\(fields.map { "\"\($0.name)\":\($0.value)" }.joined(separator: ","))}"
    }

    private mutating func note(_ path: String, _ change: String) {
        changes.append("\(path).\(change.count > 80 ? "\(change.prefix(60))… (\(change.utf8.count) bytes)" : change)")
    }

    private static let notificationTypes = [
        "ONE_TIME_CHARGE", "SUBSCRIBED", "DID_RENEW", "DID_CHANGE_RENEWAL_STATUS", "DID_CHANGE_RENEWAL_PREF",
        "DID_FAIL_TO_RENEW", "GRACE_PERIOD_EXPIRED", "EXPIRED", "OFFER_REDEEMED", "PRICE_INCREASE", "REFUND",
        "REFUND_DECLINED", "REFUND_REVERSED", "REVOKE", "CONSUMPTION_REQUEST", "RENEWAL_EXTENDED", "METADATA_UPDATE",
        "MIGRATION", "PRICE_CHANGE", "EXTERNAL_PURCHASE_TOKEN", "RESCIND_CONSENT", "TEST", "SOMETHING_NEW",
    ]

    private static let subtypes = [
        "null", "\"\"", "\"INITIAL_BUY\"", "\"AUTO_RENEW_DISABLED\"", "\"VOLUNTARY\"", "\"GRACE_PERIOD\"",
        "\"UPGRADE\"",
        "\"BILLING_RECOVERY\"", "\"SOMETHING_NEW\"",
    ]

    /// Names that Apple uses, and that the good ones above do not have; and one that nobody uses.
    private static let moreNames = [
        "transaction": [
            "previousOriginalTransactionId", "webOrderLineItemId", "subscriptionGroupIdentifier", "expiresDate",
            "revocationDate", "revocationReason", "appAccountToken", "revocationType", "revocationPercentage",
            "isUpgraded", "offerType",
            "offerIdentifier", "offerDiscountType", "offerPeriod", "advancedCommerceInfo", "billingPlanType",
            "commitmentInfo", "bundleTransactionID", "somethingNew",
        ],
        "renewalInfo": [
            "expirationIntent", "isInBillingRetryPeriod", "priceIncreaseStatus", "gracePeriodExpiresDate", "offerType",
            "offerIdentifier", "offerDiscountType", "offerPeriod", "eligibleWinBackOfferIds", "appAccountToken",
            "appTransactionId", "advancedCommerceInfo", "commitmentInfo", "renewalBillingPlanType", "transactionId",
        ],
        "data": [
            "signedTransactionInfo", "signedRenewalInfo", "status", "consumptionRequestReason",
            "signedAppTransactionInfo",
        ],
        "notification": ["summary", "externalPurchaseToken", "appData", "somethingNew"],
    ]

    /// Values as they are written.
    private static let values: [String] =
        [
            "null", "true", "false", "[]", "{}", "[null]", "{\"a\":1,\"a\":2}", "[1,\"x\",{}]",
            // Numbers: small, with a fraction, and the ends of what 32 and 64 bits, a double, and a date may be.
            "0", "-0", "-1", "1", "1.0", "1.5", "0.1", "1e2", "1E+2", "1e-400", "1e308", "1e309", "-1e308", "00", "+1",
            "NaN",
            "2147483647", "2147483648", "-2147483649", "1000000", "1000001", "9007199254740993",
            "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
            "18446744073709551616", "-62135769600000", "-62135596800000", "-62135769600001", "253402300799999",
            "253402300799999.9", "253402300800000", "-210866803200000", "-210866803200001", "8640000000000001",
            String(repeating: "9", count: 400), "-" + String(repeating: "1", count: 400),
            "0." + String(repeating: "3", count: 400), "1e" + String(repeating: "9", count: 400),
            // Texts: empty, of spaces, of what is no character, and far too long.
            "\"\"", "\" \"", "\"0\"", "\"-1\"", "\"1\"", "\"null\"", "\"\\u0000\"", "\"a\\u0000b\"", "\"\\ud800\"",
            "\"\\udc00\\ud800\"", "\"\\ud83d\\ude00\"", "\"\\u0001\\u001f\\u007f\\u0085\"", "\"\u{202E}\u{2066}\"",
            "\"\u{FEFF}\u{FFFF}\"", "\"e\u{301}\"", "\"\u{E9}\"", "\"%s%n{0}${a}'; DROP TABLE orders; --\"",
            "\"\\n\\r\\t\\\\\\\"/\"", "\"\(String(repeating: "a", count: 300))\"",
            "\"\(String(repeating: "\u{1F48E}", count: 5_000))\"", "\"\(String(repeating: "7", count: 400))\"",
            "\"00000000-0000-0000-0000-000000000000\"", "\"Production\"", "\"Sandbox\"", "\"Xcode\"",
            "\"SOMETHING_NEW\"", "\"FAMILY_SHARED\"", "\"Subscription Bundle\"", "\"2026-01-01T00:00:00Z\"",
        ]
        + [8, 31, 32, 33, 10_000].flatMap { depth in
            [("[", "]"), ("{\"a\":", "}")].map { open, close in
                String(repeating: open, count: depth) + "1" + String(repeating: close, count: depth)
            }
        }
}

/// Signs as the stack's simulated store does, with its keys.
private struct StoreSigner {
    private let header: String
    private let key: P256.Signing.PrivateKey

    init(_ stack: Stack) throws {
        let folder = stack.folder.appending(path: "simulator/authority")
        let chain = try ["leaf", "intermediate", "root"].map { name in
            "\"\(try Data(contentsOf: folder.appending(path: "\(name).der")).base64EncodedString())\""
        }
        header = Data("{\"alg\":\"ES256\",\"x5c\":[\(chain.joined(separator: ","))]}".utf8).base64URL
        key = try P256.Signing.PrivateKey(
            pemRepresentation: String(contentsOf: folder.appending(path: "leaf.key"), encoding: .utf8))
    }

    func sign(_ payload: String) throws -> String {
        let signed = "\(header).\(Data(payload.utf8).base64URL)"
        return "\(signed).\(try key.signature(for: Data(signed.utf8)).rawRepresentation.base64URL)"
    }
}
