/// `responseBodyV2DecodedPayload`: what a server notification says, its fields in the order in which Apple signed them
/// in 2025 (apple-facts C7).
struct NotificationPayload: Sendable {
    /// The one object that a notification carries; each is JSON that is written already.
    enum Content: Sendable {
        case data(String)
        case summary(String)
        case externalPurchaseToken(String)
        case appData(String)

        var name: String {
            switch self {
            case .data: "data"
            case .summary: "summary"
            case .externalPurchaseToken: "externalPurchaseToken"
            case .appData: "appData"
            }
        }

        var json: String {
            switch self {
            case .data(let json), .summary(let json), .externalPurchaseToken(let json), .appData(let json): json
            }
        }
    }

    var notificationType: String
    var subtype: String?
    /// A lower-case UUID; every attempt to deliver it carries the same.
    var notificationUUID: String
    var content: Content
    /// Milliseconds since 1970.
    var signedDate: Int64

    var text: String {
        var json = JSONText()
        json.add("notificationType", notificationType)
        json.add("subtype", subtype)
        json.add("notificationUUID", notificationUUID)
        json.add(content.name, json: content.json)
        json.add("version", "2.0")
        json.add("signedDate", signedDate)
        return json.object
    }
}

extension AppRecord {
    /// The `data` of a notification about a transaction.
    ///
    /// - Parameters:
    ///   - transaction: signed.
    ///   - renewalInfo: signed; for subscriptions only, like `status`.
    func notificationData(
        environment: StoreEnvironment, transaction: String, renewalInfo: String? = nil,
        status: SubscriptionRecord.Status? = nil, consumptionRequestReason: String? = nil
    ) -> String {
        var json = JSONText()
        json.add("appAppleId", appAppleId)
        json.add("bundleId", bundleId)
        json.add("bundleVersion", bundleVersion)
        json.add("environment", environment.rawValue)
        json.add("signedTransactionInfo", transaction)
        json.add("signedRenewalInfo", renewalInfo)
        json.add("status", status?.rawValue)
        json.add("consumptionRequestReason", consumptionRequestReason)
        return json.object
    }

    /// The `data` of a TEST: no transaction, and in the sandbox no app number either.
    func testData(environment: StoreEnvironment) -> String {
        var json = JSONText()
        if environment == .production { json.add("appAppleId", appAppleId) }
        json.add("bundleId", bundleId)
        json.add("environment", environment.rawValue)
        return json.object
    }

    /// The `appData` of a notification about a download.
    func appData(environment: StoreEnvironment, appTransaction: String) -> String {
        var json = JSONText()
        json.add("appAppleId", appAppleId)
        json.add("bundleId", bundleId)
        json.add("environment", environment.rawValue)
        json.add("signedAppTransactionInfo", appTransaction)
        return json.object
    }

    /// The `externalPurchaseToken` of a notification.
    func externalPurchaseToken(_ record: ExternalPurchaseRecord) -> String {
        var json = JSONText()
        json.add("externalPurchaseId", record.externalPurchaseId)
        json.add("tokenCreationDate", record.tokenCreationDate)
        json.add("appAppleId", appAppleId)
        json.add("bundleId", bundleId)
        json.add("tokenType", record.tokenType)
        json.add("tokenExpirationDate", record.tokenExpirationDate)
        return json.object
    }

    /// The `summary` of a mass extension that is complete.
    func extensionSummary(_ record: MassExtensionRecord) -> String {
        var json = JSONText()
        json.add("environment", record.environment.rawValue)
        json.add("appAppleId", appAppleId)
        json.add("bundleId", bundleId)
        json.add("productId", record.productId)
        json.add("requestIdentifier", record.requestIdentifier)
        if !record.storefrontCountryCodes.isEmpty {
            json.add("storefrontCountryCodes", record.storefrontCountryCodes)
        }
        json.add("succeededCount", record.succeededCount)
        json.add("failedCount", record.failedCount)
        return json.object
    }
}
