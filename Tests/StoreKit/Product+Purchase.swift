// The names are Apple's, and documented at the addresses.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation, BeginDocumentationCommentWithOneLineSummary

public import Foundation

extension Product {
    /// developer.apple.com/documentation/storekit/product/purchaseresult
    public enum PurchaseResult: Sendable {
        case success(VerificationResult<Transaction>)
        case userCancelled
        case pending
    }

    /// developer.apple.com/documentation/storekit/product/purchaseerror
    public enum PurchaseError: Error {
        case invalidQuantity
        case productUnavailable
        case purchaseNotAllowed
        case ineligibleForOffer
        case invalidOfferIdentifier
        case invalidOfferPrice
        case invalidOfferSignature
        case missingOfferParameters
    }

    /// developer.apple.com/documentation/storekit/product/purchaseoption
    public struct PurchaseOption: Equatable, Hashable, Sendable {
        package let kind: Kind

        package enum Kind: Hashable, Sendable {
            case appAccountToken(UUID)
            case quantity(Int)
            case promotionalOffer(id: String, keyID: String, nonce: UUID, signature: Data, timestamp: Int)
            case promotionalOfferID(String)
            case promotionalOfferJWS(String)
            case introductoryOfferJWS(String)
            case winBackOffer(String?)
        }

        public static func winBackOffer(_ offer: Product.SubscriptionOffer) -> PurchaseOption {
            PurchaseOption(kind: .winBackOffer(offer.id))
        }

        public static func appAccountToken(_ token: UUID) -> PurchaseOption {
            PurchaseOption(kind: .appAccountToken(token))
        }

        public static func quantity(_ quantity: Int) -> PurchaseOption { PurchaseOption(kind: .quantity(quantity)) }

        public static func promotionalOffer(
            offerID: String, keyID: String, nonce: UUID, signature: Data, timestamp: Int
        ) -> PurchaseOption {
            PurchaseOption(
                kind: .promotionalOffer(
                    id: offerID, keyID: keyID, nonce: nonce, signature: signature, timestamp: timestamp))
        }

        public static func promotionalOffer(_ offerID: String, compactJWS: String) -> [PurchaseOption] {
            [
                PurchaseOption(kind: .promotionalOfferID(offerID)),
                PurchaseOption(kind: .promotionalOfferJWS(compactJWS)),
            ]
        }

        public static func introductoryOfferEligibility(compactJWS: String) -> PurchaseOption {
            PurchaseOption(kind: .introductoryOfferJWS(compactJWS))
        }
    }
}

/// developer.apple.com/documentation/storekit/purchaseintent
public struct PurchaseIntent: Sendable {
    public let product: Product
    /// Since iOS 18.
    public let offer: Product.SubscriptionOffer?

    package init(product: Product, offer: Product.SubscriptionOffer? = nil) {
        self.product = product
        self.offer = offer
    }

    /// developer.apple.com/documentation/storekit/purchaseintent/intents
    public static var intents: PurchaseIntents { PurchaseIntents(device: StoreKitDevices.device) }

    public struct PurchaseIntents: AsyncSequence, Sendable {
        public typealias Element = PurchaseIntent
        let device: any StoreKitDevice

        public struct AsyncIterator: AsyncIteratorProtocol {
            var iterator: AsyncStream<PurchaseIntent>.Iterator

            public mutating func next() async -> PurchaseIntent? { await iterator.next() }
        }

        public func makeAsyncIterator() -> AsyncIterator {
            AsyncIterator(iterator: device.purchaseIntents().makeAsyncIterator())
        }
    }
}
