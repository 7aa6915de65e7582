/// What a page shows, in a person's language.
struct Page: Sendable {
    let title: String
    /// Which entry of the navigation it belongs to.
    var place: Place?
    var blocks: [Block]
    /// Seconds after which the browser asks again; nil for what does not change by itself.
    var refreshSeconds: Int?
    var status = 200
    /// Where the browser goes in place of it.
    var goTo: String?
    /// What is fetched in place of a page.
    var download: Download?
}

/// A file that is made of a page's numbers.
struct Download: Sendable {
    let name: String
    let contentType: String
    let text: String
}

/// An entry of the navigation.
enum Place: String, CaseIterable, Sendable {
    case home, undelivered, orders, webhooks, notifications, refunds, money, catalogue, settings, log

    /// Below `/apps/{app}`.
    var path: String { self == .home ? "" : "/\(rawValue)" }

    var permission: Permission {
        switch self {
        case .home: .seeHome
        case .undelivered: .seeUndelivered
        case .orders: .seePurchases
        case .webhooks: .seeWebhooks
        case .notifications: .seeNotifications
        case .refunds: .seeRefundRequests
        case .money: .seeMoney
        case .catalogue: .seeCatalogue
        case .settings: .seeSettings
        case .log: .seeLog
        }
    }
}
