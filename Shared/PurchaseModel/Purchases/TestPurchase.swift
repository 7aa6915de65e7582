/// Why a sandbox purchase was made, as far as it can be told.
///
/// Such a purchase is granted in the sandbox's own ledger, and marked wherever it is told of: nobody paid for it.
package struct TestPurchase: RawRepresentable, Codable, Sendable, Hashable {
    /// The word, in snake case.
    package let rawValue: String

    /// Keeps the word as it is.
    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// The app is configured to take sandbox purchases as tests.
    package static let sandbox = TestPurchase(rawValue: "sandbox")
    /// A build for the App Store bought in the sandbox: App Review does so, and TestFlight.
    ///
    /// Source: developer.apple.com/documentation/storekit, "Testing in-app purchases with sandbox".
    package static let appReview = TestPurchase(rawValue: "app_review")
}
