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

/// Whose calls Apple counts together (ADP, Identifying rate limits).
struct BudgetKey: Sendable, Hashable {
    let app: String
    let host: AppStoreHost
}

/// How fast Apple may be asked.
///
/// Apple allows each app 50 calls a second of the class that Get Transaction Info is in, a tenth of it in the sandbox. For
/// verifyReceipt it documents no limit; the same pace is kept there.
struct AppStoreRates: Sendable, Hashable {
    enum Limit {
        /// What the sandbox allows of production's.
        static let sandboxShare = 0.1
        /// Budgets that are kept, of apps and hosts.
        static let budgets = 4_000
    }

    /// Calls a second of the class of 50, in production.
    var perSecond: Double
    /// The share of it that is used, from 0 to 1.
    var share: Double

    /// The limit of a budget before it is divided among the workers.
    func limit(of key: BudgetKey) -> RateBudget.Limit {
        let isSandbox = key.host.kind == .serverAPI && key.host.environment == .sandbox
        let rate = perSecond * share * (isSandbox ? Limit.sandboxShare : 1)
        return RateBudget.Limit(perSecond: rate, burst: max(1, rate))
    }
}
