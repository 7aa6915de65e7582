import HTTPTypes

/// A page below `/apps/{app}`: who may see it, and what makes it.
struct AppPage: Sendable {
    let method: HTTPRequest.Method
    /// Behind the app.
    let path: String
    let permission: Permission
    let make: @Sendable (PageRequest) async throws -> Page

    init(
        _ path: String, _ permission: Permission, method: HTTPRequest.Method = .get,
        _ make: @escaping @Sendable (PageRequest) async throws -> Page
    ) {
        (self.path, self.permission, self.method, self.make) = (path, permission, method, make)
    }
}

enum AppPages {
    /// All of them.
    static var all: [AppPage] {
        [
            AppPage("", .seeHome, HomePage.make),
            AppPage("/find", .find, FindPage.make),
            AppPage("/purchases/{environment}/{id}", .seePurchases, PurchasePage.make),
            AppPage("/submissions/{id}", .seePurchases, SubmissionPage.make),
            AppPage("/accounts/{id}", .seeAccounts, AccountPage.make),
            AppPage("/questions/{id}", .askApple, QuestionPage.make),
            AppPage("/undelivered", .seeUndelivered, UndeliveredPage.make),
            AppPage("/orders", .seePurchases, OrdersPage.make),
            AppPage("/webhooks", .seeWebhooks, WebhooksPage.make),
            AppPage("/webhooks/{event}/{endpoint}", .seeWebhooks, AttemptsPage.make),
            AppPage("/notifications", .seeNotifications, NotificationsPage.make),
            AppPage("/refunds", .seeRefundRequests, RefundsPage.make),
            AppPage("/refunds/{id}", .seeRefundRequests, RefundPage.make),
            AppPage("/money", .seeMoney, MoneyPage.make),
            AppPage("/money.csv", .seeMoney, MoneyPage.csv),
            AppPage("/money/subscriptions", .seeMoney, SubscriptionsPage.make),
            AppPage("/money/subscriptions.csv", .seeMoney, SubscriptionsPage.csv),
            AppPage("/catalogue", .seeCatalogue, CataloguePage.make),
            AppPage("/settings", .seeSettings, SettingsPage.make),
            AppPage("/log", .seeLog, LogPage.make),
        ]
            + Act.allCases.map { act in
                AppPage("/acts/\(act.rawValue)", act.permission, method: .post) { try await ActPage.make(act, $0) }
            }
            + ManyAct.allCases.map { many in
                AppPage("/acts/\(many.rawValue)", many.act.permission, method: .post) {
                    try await ManyPage.make(many, $0)
                }
            }
    }
}
