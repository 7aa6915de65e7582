/// What Apple says about a receipt (ADP, status); numbers of tomorrow are kept as they came.
public struct VerifyReceiptStatus: OpenNumber {
    /// Apple's value.
    public let rawValue: Int64

    /// Takes a value, known or not.
    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// The receipt is genuine.
    public static let valid = Self(rawValue: 0)
    /// The request was not a POST.
    public static let notPost = Self(rawValue: 21_000)
    /// Apple sends it no longer.
    public static let noLongerSent = Self(rawValue: 21_001)
    /// The receipt's data is malformed, or the service had a temporary issue.
    public static let malformed = Self(rawValue: 21_002)
    /// The receipt could not be authenticated.
    public static let notAuthenticated = Self(rawValue: 21_003)
    /// The shared secret is not the app's.
    public static let sharedSecretMismatch = Self(rawValue: 21_004)
    /// The service was temporarily not there.
    public static let unavailable = Self(rawValue: 21_005)
    /// The receipt is genuine and its subscription has expired; only for receipts of a single transaction (iOS 6 style).
    public static let validButExpired = Self(rawValue: 21_006)
    /// A receipt of the sandbox was sent to production.
    public static let belongsToSandbox = Self(rawValue: 21_007)
    /// A receipt of production was sent to the sandbox.
    public static let belongsToProduction = Self(rawValue: 21_008)
    /// Apple could not read its data.
    public static let dataAccessError = Self(rawValue: 21_009)
    /// The account was not found, or was deleted.
    public static let accountUnknown = Self(rawValue: 21_010)
    /// Apple could not read its data, in a hundred ways; ``VerifyReceiptAnswer/isRetryable`` says whether to ask again.
    public static let dataAccessErrors: ClosedRange<Int64> = 21_100...21_199

    /// Whether the receipt is genuine, and what the answer says about purchases counts.
    public var isValid: Bool { self == .valid || self == .validButExpired }
}
