public import Foundation

/// A server notification that the App Store signed: Apple's `responseBodyV2DecodedPayload`, with everything signed in it
/// verified too.
///
/// Only ``SignedDataVerifier`` makes one, so whoever has one has a proof, also that what is inside belongs to the same
/// app and environment.
public struct SignedNotification: Sendable {
    /// What happened.
    public let notificationType: NotificationType
    /// More about what happened.
    public let subtype: Subtype?
    /// The notification's id: the same each time that it is sent.
    public let notificationUUID: String
    /// The version of Apple's format: `2.0`.
    public let version: String?
    /// When the App Store signed this.
    public let signedDate: Date
    /// When the first of the certificates expires that it, or something signed in it, was signed under.
    public let certificatesExpire: Date
    /// Production or sandbox.
    public let environment: SignedDataEnvironment
    /// The app's bundle identifier.
    public let bundleId: String
    /// The app's number; Apple promises it in production only.
    public let appAppleId: Int64?
    /// What it is about: exactly one thing.
    public let content: Content
    /// Names of known fields that could not be read and were left out, those of the content behind its name and a dot.
    public let unreadableFields: [String]
    /// Names of fields that this version does not know, written like ``unreadableFields``.
    public let unknownFields: [String]
    /// The JSON that was signed, byte for byte.
    public let payload: [UInt8]

    /// What a notification is about.
    public enum Content: Sendable {
        /// A transaction or subscription; or nothing, in a TEST.
        case data(PurchaseData)
        /// How a mass extension of renewal dates ended.
        case summary(Summary)
        /// A purchase outside the App Store.
        case externalPurchaseToken(ExternalPurchaseToken)
        /// A download of the app.
        case appData(AppData)
    }

    /// Apple's `data`; app and environment are those of the notification.
    public struct PurchaseData: Sendable {
        /// The app's version.
        public let bundleVersion: String?
        /// `signedTransactionInfo`, verified.
        public let transaction: SignedTransaction?
        /// `signedRenewalInfo`, verified, of the same subscription as ``transaction``.
        public let renewalInfo: SignedRenewalInfo?
        /// The state of the subscription when this was signed.
        public let status: SubscriptionStatus?
        /// Why the customer asks for a refund.
        public let consumptionRequestReason: ConsumptionRequestReason?
    }

    /// Apple's `summary`; app and environment are those of the notification.
    public struct Summary: Sendable, Hashable {
        /// The UUID that the extension was asked for with.
        public let requestIdentifier: String
        /// The subscription's product.
        public let productId: String
        /// The storefronts, as three letters each; nil for all.
        public let storefrontCountryCodes: [String]?
        /// How many were extended.
        public let succeededCount: Int64?
        /// How many were not.
        public let failedCount: Int64?
    }

    /// Apple's `externalPurchaseToken`; app and environment are those of the notification.
    public struct ExternalPurchaseToken: Sendable, Hashable {
        /// The token's id; in the sandbox it begins with `SANDBOX`.
        public let externalPurchaseId: String
        /// When it was made.
        public let tokenCreationDate: Date
        /// `SERVICES` or `ACQUISITION`; nil for the first generation (Apple's changelog, 2025-06-26).
        public let tokenType: String?
        /// When it expires; nil when it does not.
        public let tokenExpirationDate: Date?
    }

    /// Apple's `appData`; app and environment are those of the notification.
    public struct AppData: Sendable {
        /// `signedAppTransactionInfo`, verified.
        public let appTransaction: SignedAppTransaction?
    }
}
