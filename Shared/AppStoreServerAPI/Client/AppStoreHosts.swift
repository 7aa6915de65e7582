/// The environment that a call is made in: Apple has a host for each.
public enum AppStoreEnvironment: String, Sendable, Hashable, CaseIterable, Codable {
    /// Real purchases.
    case production = "Production"
    /// Purchases with test accounts, in TestFlight and in App Review.
    case sandbox = "Sandbox"
}

/// Where the App Store Server API is: base URLs without a path, such as `https://api.storekit.apple.com`.
public struct AppStoreHosts: Sendable, Hashable {
    /// Of ``AppStoreEnvironment/production``.
    public let production: String
    /// Of ``AppStoreEnvironment/sandbox``.
    public let sandbox: String

    /// Takes two base URLs, of a simulator for instance; a slash at an end is cut off.
    public init(production: String, sandbox: String) {
        self.production = Self.withoutSlash(production)
        self.sandbox = Self.withoutSlash(sandbox)
    }

    /// The hosts that Apple recommends since 2026-05-05 (ADP, App Store Server API changelog).
    public static let apple = AppStoreHosts(
        production: "https://api.storekit.apple.com", sandbox: "https://api.storekit-sandbox.apple.com")

    /// The hosts before that; they still answer.
    public static let appleBefore2026 = AppStoreHosts(
        production: "https://api.storekit.itunes.apple.com", sandbox: "https://api.storekit-sandbox.itunes.apple.com")

    /// The base URL of an environment.
    public func base(of environment: AppStoreEnvironment) -> String {
        environment == .production ? production : sandbox
    }

    static func withoutSlash(_ url: String) -> String {
        url.hasSuffix("/") ? String(url.dropLast()) : url
    }
}
