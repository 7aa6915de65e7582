import Foundation

extension StoreState {
    /// The account of somebody who never signed up: it needs no record.
    ///
    /// - Parameter token: what tells this guest from others; empty for one that is told by its transaction.
    static func guest(token: String) -> String { "guest:\(token)" }

    /// Whether an account is a guest's.
    static func isGuest(_ accountId: String) -> Bool { accountId.hasPrefix("guest:") }

    /// An Apple ID; somebody in the USA who can pay, when nobody said otherwise.
    func account(_ id: String) -> AccountRecord {
        accounts[id]
            ?? AccountRecord(
                id: id, storefront: "USA", storefrontId: Storefront.identifier(of: "USA"), family: nil,
                needsApproval: false, canPay: true, isDeleted: false)
    }

    /// The account's download of an app, made when it is asked for first.
    mutating func download(
        bundleId: String, accountId: String, environment: StoreEnvironment, now: Int64
    ) -> DownloadRecord {
        if let known = downloads[DownloadRecord.key(bundleId, accountId, environment)] { return known }
        let version = apps[bundleId]?.bundleVersion ?? "1"
        let download = DownloadRecord(
            bundleId: bundleId, accountId: accountId, environment: environment,
            appTransactionId: Self.appTransactionId(bundleId, accountId, environment),
            originalPurchaseDate: now / 1_000 * 1_000, originalApplicationVersion: version, originalPlatform: "iOS",
            consentRescinded: false)
        put(download)
        return download
    }

    /// One customer has one of these per app and environment.
    static func appTransactionId(
        _ bundleId: String, _ accountId: String, _ environment: StoreEnvironment
    ) -> String {
        String(Number.derived(from: "\(environment.rawValue) \(bundleId) \(accountId)", digits: 18))
    }

    /// An app, made as a released one when nobody registered it.
    mutating func ensureApp(_ bundleId: String) -> AppRecord {
        if let known = apps[bundleId] { return known }
        let app = AppRecord(
            bundleId: bundleId, appAppleId: Number.derived(from: bundleId, digits: 10), bundleVersion: "1",
            isReleased: true, keepsNotifications: false, notificationURLs: [:], sharedSecret: nil,
            issuerId: Self.issuerId(of: bundleId), publicKeys: [:], gracePeriod: .off, sandboxMonth: nil,
            isAdvancedCommerce: false)
        put(app)
        return app
    }

    /// The issuer id of an app whose registration named none: a UUID that is the same each time.
    static func issuerId(of bundleId: String) -> String {
        let digits = String(Number.derived(from: "issuer \(bundleId)", digits: 18))
        let text = digits.prefix(12)
        return "57246542-96fe-4a63-8053-\(text)"
    }
}

/// The storefronts that have a number here (ISO 3166-1 alpha-3 to Apple's storefront id) and their currency.
enum Storefront {
    private static let known: [String: (identifier: String, currency: String)] = [
        "USA": ("143441", "USD"), "CHN": ("143465", "CNY"), "JPN": ("143462", "JPY"), "KOR": ("143466", "KRW"),
        "GBR": ("143444", "GBP"), "DEU": ("143443", "EUR"), "FRA": ("143442", "EUR"), "ITA": ("143450", "EUR"),
        "ESP": ("143454", "EUR"), "AUS": ("143460", "AUD"), "CAN": ("143455", "CAD"), "BRA": ("143503", "BRL"),
        "IND": ("143467", "INR"), "TWN": ("143470", "TWD"), "HKG": ("143463", "HKD"), "SGP": ("143464", "SGD"),
        "MEX": ("143468", "MXN"), "NLD": ("143452", "EUR"), "SWE": ("143456", "SEK"), "CHE": ("143459", "CHF"),
        "TUR": ("143480", "TRY"), "VNM": ("143471", "VND"), "THA": ("143475", "THB"), "IDN": ("143476", "IDR"),
    ]

    /// Apple's number of a storefront; a number of our own for one that is not listed here.
    static func identifier(of code: String) -> String {
        known[code]?.identifier ?? String(Number.derived(from: code, digits: 6))
    }

    /// The currency that a storefront bills in; nil when it is not listed here.
    static func currency(of code: String) -> String? { known[code]?.currency }
}
