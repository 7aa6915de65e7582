/// Why a sandbox purchase was made, as far as it can be told.
///
/// Such a purchase is granted in the sandbox's own ledger, and marked wherever it is told of: nobody paid for it.
public struct TestPurchase: RawRepresentable, Codable, Sendable, Hashable {
    /// The word, in snake case.
    public let rawValue: String

    /// Keeps the word as it is.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// The app is configured to take sandbox purchases as tests.
    public static let sandbox = TestPurchase(rawValue: "sandbox")
    /// A build for the App Store bought in the sandbox: App Review does so, and TestFlight.
    ///
    /// Source: developer.apple.com/documentation/storekit, "Testing in-app purchases with sandbox".
    public static let appReview = TestPurchase(rawValue: "app_review")
}
