package import Foundation

/// A guardian withdrew consent to a child's use of the app, as Apple signed it (RESCIND_CONSENT).
package struct RescindedConsent: Codable, Sendable, Hashable {
    /// Production or sandbox.
    package var environment: StoreEnvironment
    /// The app's bundle id.
    package var bundleId: String
    /// The child's purchase of the app itself; transactions name the same id.
    package var appTransactionId: String
    /// When Apple signed this statement.
    package var signedDate: Date

    /// Makes a statement.
    package init(environment: StoreEnvironment, bundleId: String, appTransactionId: String, signedDate: Date) {
        self.environment = environment
        self.bundleId = bundleId
        self.appTransactionId = appTransactionId
        self.signedDate = signedDate
    }

    enum CodingKeys: String, CodingKey {
        case environment
        case bundleId = "bundle_id"
        case appTransactionId = "app_transaction_id"
        case signedDate = "signed_at"
    }
}
