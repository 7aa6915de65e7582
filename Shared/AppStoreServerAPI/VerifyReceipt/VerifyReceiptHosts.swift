/// Where `verifyReceipt` is: base URLs without a path, such as `https://buy.itunes.apple.com`.
public struct VerifyReceiptHosts: Sendable, Hashable {
    /// Of ``AppStoreEnvironment/production``.
    public let production: String
    /// Of ``AppStoreEnvironment/sandbox``.
    public let sandbox: String

    /// Takes two base URLs, of a simulator for instance; a slash at an end is cut off.
    public init(production: String, sandbox: String) {
        self.production = AppStoreHosts.withoutSlash(production)
        self.sandbox = AppStoreHosts.withoutSlash(sandbox)
    }

    /// Apple's hosts (ADP, verifyReceipt).
    public static let apple = VerifyReceiptHosts(
        production: "https://buy.itunes.apple.com", sandbox: "https://sandbox.itunes.apple.com")

    /// The base URL of an environment.
    public func base(of environment: AppStoreEnvironment) -> String {
        environment == .production ? production : sandbox
    }
}
