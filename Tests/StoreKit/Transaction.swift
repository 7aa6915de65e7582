// The names are Apple's, and documented at the addresses.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation, BeginDocumentationCommentWithOneLineSummary

public import Foundation

/// developer.apple.com/documentation/storekit/transaction
public struct Transaction: Identifiable, Sendable {
    public let id: UInt64
    public let originalID: UInt64
    public let productID: String
    public let productType: Product.ProductType
    public let purchasedQuantity: Int
    public let appAccountToken: UUID?
    public let purchaseDate: Date
    public let revocationDate: Date?
    /// The signed payload, in JSON.
    public let jsonRepresentation: Data
    package let jws: String

    package init(
        id: UInt64, originalID: UInt64, productID: String, productType: Product.ProductType, purchasedQuantity: Int,
        appAccountToken: UUID?, purchaseDate: Date, revocationDate: Date?, jsonRepresentation: Data, jws: String
    ) {
        self.id = id
        self.originalID = originalID
        self.productID = productID
        self.productType = productType
        self.purchasedQuantity = purchasedQuantity
        self.appAccountToken = appAccountToken
        self.purchaseDate = purchaseDate
        self.revocationDate = revocationDate
        self.jsonRepresentation = jsonRepresentation
        self.jws = jws
    }

    public func finish() async { await StoreKitDevices.device.finish(self) }

    public static var updates: Transactions { Transactions(kind: .updates, device: StoreKitDevices.device) }
    public static var unfinished: Transactions { Transactions(kind: .unfinished, device: StoreKitDevices.device) }
    public static var currentEntitlements: Transactions {
        Transactions(kind: .currentEntitlements, device: StoreKitDevices.device)
    }

    /// developer.apple.com/documentation/storekit/transaction/transactions
    public struct Transactions: AsyncSequence, Sendable {
        public typealias Element = VerificationResult<Transaction>

        package enum Kind: Sendable {
            case updates, unfinished, currentEntitlements
        }

        let kind: Kind
        let device: any StoreKitDevice

        public struct AsyncIterator: AsyncIteratorProtocol {
            var iterator: AsyncStream<VerificationResult<Transaction>>.Iterator

            public mutating func next() async -> VerificationResult<Transaction>? { await iterator.next() }
        }

        public func makeAsyncIterator() -> AsyncIterator {
            AsyncIterator(iterator: device.transactions(kind).makeAsyncIterator())
        }
    }
}

/// developer.apple.com/documentation/storekit/verificationresult
public enum VerificationResult<SignedType> {
    case unverified(SignedType, VerificationError)
    case verified(SignedType)

    /// developer.apple.com/documentation/storekit/verificationresult/verificationerror
    public enum VerificationError: Error {
        case revokedCertificate
        case invalidCertificateChain
        case invalidDeviceVerification
        case invalidEncoding
        case invalidSignature
        case missingRequiredProperties
    }

    public var unsafePayloadValue: SignedType {
        switch self {
        case .unverified(let value, _), .verified(let value): value
        }
    }
}

extension VerificationResult: Sendable where SignedType: Sendable {}

extension VerificationResult where SignedType == Transaction {
    public var jwsRepresentation: String { unsafePayloadValue.jws }
}
