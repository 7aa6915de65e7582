/// What somebody is in the studio; each may do what those before it may.
enum Role: String, CaseIterable, Sendable, Comparable {
    case viewer, support
    case `operator`
    case admin

    static func < (one: Role, other: Role) -> Bool {
        (allCases.firstIndex(of: one) ?? 0) < (allCases.firstIndex(of: other) ?? 0)
    }
}

/// What can be seen or done here; the one table of who may.
///
/// The key that the console calls intake with has scopes of its own, which are another wall: see deploy/ACCESS.md.
enum Permission: String, CaseIterable, Sendable {
    case seeHome, find, seePurchases, seeUndelivered, seeWebhooks, seeNotifications, seeRefundRequests, seeMoney
    case seeCatalogue, seeSettings
    /// Accounts are personal data: intake writes down who looked at which.
    case seeAccounts
    case assign, retry, askApple, adjust, extend
    case resend, changeEndpoints, export, seeLog
    case forget, endSessions

    /// The least role that may.
    var least: Role {
        switch self {
        case .seeHome, .find, .seePurchases, .seeUndelivered, .seeWebhooks, .seeNotifications, .seeRefundRequests,
            .seeMoney, .seeCatalogue, .seeSettings:
            .viewer
        case .seeAccounts, .assign, .retry, .askApple, .adjust, .extend: .support
        case .resend, .changeEndpoints, .export, .seeLog: .operator
        case .forget, .endSessions: .admin
        }
    }
}

/// Somebody of the studio.
struct Person: Sendable, Equatable {
    /// What the provider knows the person by, and never gives to another: `sub`.
    let id: String
    /// What is shown, and stands in `audit_log`: an e-mail address or a name.
    let name: String
    let role: Role

    func may(_ permission: Permission) -> Bool { role >= permission.least }
}

/// A person who is logged in, as one request sees it.
struct Visit: Sendable {
    let person: Person
    /// Names the session in lists; it is not the cookie's value.
    let session: String
    /// Has to be in every form: shows that a page of ours sent it.
    let csrfToken: String
}
