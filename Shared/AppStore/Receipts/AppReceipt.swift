public import Foundation

/// An app receipt that the App Store signed: whose app it is, and every purchase that stands in it.
///
/// It says what was so when it was made (``creationDate``): later renewals and refunds are not in it. A receipt without
/// purchases is as genuine as any; whether a purchase that the app names is in it, ``purchase(transactionId:)`` tells.
///
/// It keeps the bytes of the receipt that it was read from.
public struct AppReceipt: Sendable, Hashable {
    /// What Apple calls the environment (attribute 0).
    public let type: ReceiptType
    /// Production or sandbox, from the type; others are refused.
    public let environment: SignedDataEnvironment
    /// Whose receipt it is (2).
    public let bundleId: String
    /// `CFBundleVersion` on iOS, `CFBundleShortVersionString` on a Mac (3).
    public let applicationVersion: String?
    /// The version that was first bought (19); `1.0` in the sandbox.
    public let originalApplicationVersion: String?
    /// When the receipt was made (12), to the second.
    public let creationDate: Date
    /// When the first of the certificates that it was signed under expires; they were valid at ``creationDate``.
    public let certificatesExpire: Date
    /// When the receipt itself expires (21); only in volume purchases.
    public let expirationDate: Date?
    /// When the app itself was bought (18); 2013-08-01 in the sandbox.
    public let originalPurchaseDate: Date?
    /// Apple's number of the app (1); 0 in the sandbox.
    public let appItemId: Int64?
    /// Apple's number of the download (15); 0 in the sandbox.
    public let downloadId: Int64?
    /// Apple's number of the app's version (16); 0 in the sandbox.
    public let versionExternalIdentifier: Int64?
    /// What the device's hash was made with (4).
    public let opaqueValue: [UInt8]
    /// The SHA-1 of the device's identifier, the opaque value and the bundle id's attribute (5).
    public let deviceHash: [UInt8]
    /// Every purchase that can be read, in the receipt's order, which is not one of time.
    public let purchases: [Purchase]
    /// How many more there are that cannot: when it is not 0, nothing follows from what ``purchases`` lacks.
    public let unreadablePurchases: Int
    /// Numbers of attributes that this version knows but could not read; they are nil above.
    public let unreadableAttributes: [Int64]
    /// The attributes as they were signed: a SET in DER.
    public let encoded: ArraySlice<UInt8>

    /// The purchase with this transaction id; nil when the receipt does not list it, which is no forgery.
    public func purchase(transactionId: String) -> Purchase? {
        // By bytes, as bundle ids are compared.
        purchases.first { $0.transactionId.utf8.elementsEqual(transactionId.utf8) }
    }

    /// All attributes but the purchases, known and unknown, as they are.
    public var attributes: [Attribute] {
        Attribute.all(in: encoded).filter { $0.type != Number.purchase }
    }

    /// The attributes that Apple has documented nowhere or that came after this version, as they are.
    public var unknownAttributes: [Attribute] {
        attributes.filter { !Number.known.contains($0.type) }
    }

    /// What Apple calls the environment that a receipt is for.
    public struct ReceiptType: RawRepresentable, Sendable, Hashable {
        /// Apple's value.
        public let rawValue: String

        /// Takes a value, known or not.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Real purchases.
        public static let production = ReceiptType(rawValue: "Production")
        /// Real purchases, in volume by an organization.
        public static let productionVPP = ReceiptType(rawValue: "ProductionVPP")
        /// Test purchases.
        public static let productionSandbox = ReceiptType(rawValue: "ProductionSandbox")
        /// Test purchases in volume.
        public static let productionVPPSandbox = ReceiptType(rawValue: "ProductionVPPSandbox")
        /// StoreKit Testing in Xcode; always refused.
        public static let xcode = ReceiptType(rawValue: "Xcode")

        /// Production or sandbox; nil for a type that is neither.
        public var environment: SignedDataEnvironment? {
            switch self {
            case .production, .productionVPP: .production
            case .productionSandbox, .productionVPPSandbox: .sandbox
            default: nil
            }
        }
    }

    /// An attribute as it stands in a receipt.
    public struct Attribute: Sendable, Hashable {
        /// Apple's number of what it is.
        public let type: Int64
        /// Apple's number of its form; 1, rarely 2.
        public let version: Int64
        /// Its value, mostly DER again.
        public let value: ArraySlice<UInt8>

        static func all(in encoded: ArraySlice<UInt8>) -> [Attribute] {
            let bytes = Array(encoded)
            var attributes: [Attribute] = []
            guard var walk = try? ReceiptAttributeWalk(bytes, in: bytes.indices) else { return [] }
            while let entry = try? walk.next() {
                attributes.append(
                    Attribute(type: entry.type, version: entry.version, value: bytes[entry.value]))
            }
            return attributes
        }
    }

    /// Apple's numbers of a receipt's attributes.
    enum Number {
        static let receiptType: Int64 = 0
        static let appItemId: Int64 = 1
        static let bundleId: Int64 = 2
        static let applicationVersion: Int64 = 3
        static let opaqueValue: Int64 = 4
        static let deviceHash: Int64 = 5
        static let creationDate: Int64 = 12
        static let downloadId: Int64 = 15
        static let versionExternalIdentifier: Int64 = 16
        static let purchase: Int64 = 17
        static let originalPurchaseDate: Int64 = 18
        static let originalApplicationVersion: Int64 = 19
        static let expirationDate: Int64 = 21

        static let known: Set<Int64> = [
            receiptType, appItemId, bundleId, applicationVersion, opaqueValue, deviceHash, creationDate, downloadId,
            versionExternalIdentifier, purchase, originalPurchaseDate, originalApplicationVersion, expirationDate,
        ]
    }
}
