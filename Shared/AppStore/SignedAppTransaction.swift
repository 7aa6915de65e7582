import Crypto
public import Foundation

/// The proof that a customer downloaded the app: Apple's `AppTransaction`, field by field under Apple's names.
///
/// Only ``SignedDataVerifier`` makes one, so whoever has one has a proof.
public struct SignedAppTransaction: Sendable {
    /// The environment: Apple calls it the receipt's type.
    public let receiptType: SignedDataEnvironment
    /// The app's number; Apple leaves it out in the sandbox.
    public let appAppleId: Int64?
    /// The app's bundle identifier.
    public let bundleId: String
    /// The app's version on the device.
    public let applicationVersion: String?
    /// The App Store's number of that version.
    public let versionExternalIdentifier: Int64?
    /// When the App Store signed this.
    public let receiptCreationDate: Date
    /// When the first of the certificates that it was signed under expires; they were valid at ``receiptCreationDate``.
    public let certificatesExpire: Date
    /// When the customer first got the app; for those who paid for it before it was free.
    public let originalPurchaseDate: Date?
    /// The version that the customer first got.
    public let originalApplicationVersion: String?
    /// Ties this to a device: see ``isFor(deviceIdentifier:)``.
    public let deviceVerification: String?
    /// What is hashed together with the device's identifier.
    public let deviceVerificationNonce: UUID?
    /// When the customer ordered the app before it was released.
    public let preorderDate: Date?
    /// The id of this download; every member of a family has another.
    public let appTransactionId: String?
    /// Which store the app came from (ADP storeType); Apple has not said which words there are.
    public let storeType: String?
    /// Where the customer first got the app.
    public let originalPlatform: Platform?
    /// Names of known fields that could not be read and were left out; their values are in ``payload``.
    public let unreadableFields: [String]
    /// The JSON that was signed, byte for byte.
    public let payload: [UInt8]

    /// A platform that apps run on (ADP originalPlatform).
    public struct Platform: RawRepresentable, Sendable, Hashable {
        /// Apple's value.
        public let rawValue: String

        /// Takes a value, known or not.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// iPhone and iPad.
        public static let iOS = Platform(rawValue: "iOS")
        /// Mac.
        public static let macOS = Platform(rawValue: "macOS")
        /// Apple TV.
        public static let tvOS = Platform(rawValue: "tvOS")
        /// Apple Vision.
        public static let visionOS = Platform(rawValue: "visionOS")
    }

    /// Whether this was made for a device, and not copied from another.
    ///
    /// The SHA-384 of nonce and identifier, both in lower case, one behind the other (ADP
    /// AppTransaction.deviceVerification).
    ///
    /// - Parameter deviceIdentifier: StoreKit's `AppStore.deviceVerificationID`, which the app sends.
    /// - Returns: false also when this is tied to no device, as what Apple's server gives is not.
    public func isFor(deviceIdentifier: UUID) -> Bool {
        guard let deviceVerificationNonce, let deviceVerification,
            let expected = Data(base64Encoded: deviceVerification)
        else { return false }
        let text = deviceVerificationNonce.uuidString.lowercased() + deviceIdentifier.uuidString.lowercased()
        return SHA384.hash(data: Data(text.utf8)) == expected
    }
}

extension SignedAppTransaction {
    /// Reads a payload whose signature is good, and checks whose it is (C6, step 7).
    static func reading(
        _ content: SignedContent, app: AppIdentity
    ) -> Result<SignedAppTransaction, SignedDataRejection> {
        do {
            return .success(try SignedAppTransaction(content, app: app))
        } catch {
            return .failure(error)
        }
    }

    private init(_ content: SignedContent, app: AppIdentity) throws(SignedDataRejection) {
        var fields = PayloadFields(content.fields)
        guard fields.has("receiptType") else {
            throw SignedDataRejection(.notAnAppTransaction, "no receiptType")
        }
        receiptType = SignedDataEnvironment(rawValue: try fields.required("receiptType"))
        bundleId = try fields.required("bundleId")
        receiptCreationDate = try fields.requiredDate("receiptCreationDate")
        certificatesExpire = content.certificatesExpire
        appAppleId = try fields.strictInteger("appAppleId", in: 1...Int64.max)
        // What a customer of old is given depends on these.
        originalPurchaseDate = try fields.strictDate("originalPurchaseDate")
        originalApplicationVersion = try fields.strictString("originalApplicationVersion")
        preorderDate = try fields.strictDate("preorderDate")
        guard app.isNamed(bundleId) else {
            throw SignedDataRejection(.bundleMismatch, "the app transaction is another app's")
        }
        try SignedDataEnvironment.check(receiptType)
        try app.checkNumber(appAppleId, in: receiptType)

        applicationVersion = fields.string("applicationVersion")
        versionExternalIdentifier = fields.integer("versionExternalIdentifier")
        deviceVerification = fields.string("deviceVerification")
        deviceVerificationNonce = fields.uuid("deviceVerificationNonce")
        appTransactionId = fields.id("appTransactionId")
        storeType = fields.string("storeType")
        originalPlatform = fields.string("originalPlatform").map(Platform.init(rawValue:))
        unreadableFields = fields.unreadable
        payload = content.fields.text
    }

    /// Names of fields that this version does not know, sorted; their values are in ``payload``.
    public var unknownFields: [String] {
        (try? JSONObject(payload, nestingDepthMaximum: 1, keepsUnreadable: true))?.names(besides: Self.knownFields)
            ?? []
    }

    private static let knownFields: Set<String> = [
        "receiptType", "appAppleId", "bundleId", "applicationVersion", "versionExternalIdentifier",
        "receiptCreationDate", "originalPurchaseDate", "originalApplicationVersion", "deviceVerification",
        "deviceVerificationNonce", "preorderDate", "appTransactionId", "originalPlatform", "storeType",
    ]
}
