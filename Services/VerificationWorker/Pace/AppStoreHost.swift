import AppStoreServerAPI
import Pacing

/// One of the four hosts that are asked.
struct AppStoreHost: Sendable, Hashable {
    /// What a host serves.
    enum Kind: String, Sendable, Hashable, CaseIterable {
        case serverAPI = "server_api"
        case verifyReceipt = "verify_receipt"
    }

    let kind: Kind
    let environment: AppStoreEnvironment

    /// All of them.
    static let all = Kind.allCases.flatMap { kind in
        AppStoreEnvironment.allCases.map { AppStoreHost(kind: kind, environment: $0) }
    }

    /// The one whose outage pauses the lookups: nearly all of them begin there.
    static let main = AppStoreHost(kind: .serverAPI, environment: .production)

    /// For metrics and logs.
    var name: String { "\(kind.rawValue)_\(environment == .production ? "production" : "sandbox")" }
}

/// Calls of one host that Apple limits together (apple-facts C3).
enum CallClass: String, Sendable, Hashable, CaseIterable {
    /// Get Transaction Info, Get All Subscription Statuses and most others: 50 a second. Also verifyReceipt.
    case usual
    /// Look Up Order ID: 10 a second.
    case orders
    /// Set App Account Token and Extend a Subscription Renewal Date: 20 a second.
    case tokens
}

/// What a call is for: each use has breakers of its own, so that calls of one that never succeed hold up nothing of the other.
enum CallUse: String, Sendable, Hashable, CaseIterable {
    /// What somebody waits for.
    case lookups
    /// The sweep's, and those that fulfillment queued.
    case background
}

/// Whose calls Apple counts together (ADP, Identifying rate limits).
struct BudgetKey: Sendable, Hashable {
    let app: String
    let host: AppStoreHost
    var callClass = CallClass.usual
}

/// How fast Apple may be asked.
///
/// Apple allows each app 50 calls a second of the class that Get Transaction Info is in, 20 of the one that Set App Account Token
/// is in and 10 of the one that Look Up Order ID is in, a tenth of it in the sandbox. For verifyReceipt it documents no limit; the pace of the former is kept there.
struct AppStoreRates: Sendable, Hashable {
    /// What the sandbox allows of production's.
    static let sandboxShare = 0.1
    /// Budgets that are kept, of apps, hosts and classes of calls.
    static let budgetsMaximum = 4_000

    /// Calls a second of the class of 50, in production.
    var perSecond: Double
    /// The share of it that is used, from 0 to 1; of the other class, too.
    var share: Double
    /// Lookups of order ids a second, in production.
    var ordersPerSecond: Double = 10
    /// Settings of account tokens a second, in production.
    var tokensPerSecond: Double = 20

    /// The limit of a budget before it is divided among the workers.
    func limit(of key: BudgetKey) -> RateBudget.Limit {
        let isSandbox = key.host.kind == .serverAPI && key.host.environment == .sandbox
        let allowed =
            switch key.callClass {
            case .usual: perSecond
            case .orders: ordersPerSecond
            case .tokens: tokensPerSecond
            }
        let rate = allowed * share * (isSandbox ? Self.sandboxShare : 1)
        return RateBudget.Limit(perSecond: rate, burst: max(1, rate))
    }
}
