/// Why something was refused, parked or put off: a stable word for programs, logs and metrics.
///
/// The reasons of a verification (a broken signature, a wrong bundle id, …) come from the verifier under its own names;
/// the ones below are Countersign's.
public struct ReasonCode: RawRepresentable, Codable, Sendable, Hashable, CustomStringConvertible {
    /// The word, in snake case.
    public let rawValue: String

    /// Keeps the word as it is.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// The word.
    public var description: String { rawValue }

    /// The transaction is another account's already, or Apple's signed data names another account.
    public static let belongsToAnotherAccount = ReasonCode(rawValue: "belongs_to_another_account")
    /// The app's configuration refuses sandbox purchases.
    public static let sandboxRefused = ReasonCode(rawValue: "sandbox_refused")
    /// No app of this bundle id is configured.
    public static let appUnknown = ReasonCode(rawValue: "app_unknown")
    /// Genuine, but signed before Apple's data named an environment (2021): nothing says whether money was paid.
    public static let environmentMissing = ReasonCode(rawValue: "environment_missing")
    /// Genuine, but the catalogue does not know the product yet.
    public static let productUnknown = ReasonCode(rawValue: "product_unknown")
    /// Genuine, but the catalogue says another type than Apple does.
    public static let productTypeMismatch = ReasonCode(rawValue: "product_type_mismatch")
    /// Genuine, but the appAccountToken that Apple signed belongs to no account we know.
    public static let accountTokenUnknown = ReasonCode(rawValue: "account_token_unknown")
    /// Genuine, but its grant is greater than an amount can be.
    public static let amountTooLarge = ReasonCode(rawValue: "amount_too_large")
    /// Genuine, and taken back by Apple before it was granted.
    public static let revokedByApple = ReasonCode(rawValue: "revoked_by_apple")
}
