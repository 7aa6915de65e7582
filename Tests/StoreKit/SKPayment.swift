// The names are Apple's, and documented at the addresses.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation, BeginDocumentationCommentWithOneLineSummary

public import Foundation

/// developer.apple.com/documentation/storekit/skpayment
open class SKPayment: NSObject {
    package var product: String
    package var count = 1
    package var username: String?
    package var discount: SKPaymentDiscount?

    public init(product: SKProduct) { self.product = product.productIdentifier }

    package init(productIdentifier: String) { product = productIdentifier }

    open var productIdentifier: String { product }
    open var quantity: Int { count }
    open var applicationUsername: String? { username }
    open var paymentDiscount: SKPaymentDiscount? { discount }
}

/// developer.apple.com/documentation/storekit/skmutablepayment
open class SKMutablePayment: SKPayment {
    override open var productIdentifier: String {
        get { product }
        set { product = newValue }
    }
    override open var quantity: Int {
        get { count }
        set { count = newValue }
    }
    override open var applicationUsername: String? {
        get { username }
        set { username = newValue }
    }
    override open var paymentDiscount: SKPaymentDiscount? {
        get { discount }
        set { discount = newValue }
    }
}

/// developer.apple.com/documentation/storekit/skpaymentdiscount
open class SKPaymentDiscount: NSObject {
    public let identifier: String
    public let keyIdentifier: String
    public let nonce: UUID
    public let signature: String
    public let timestamp: NSNumber

    public init(identifier: String, keyIdentifier: String, nonce: UUID, signature: String, timestamp: NSNumber) {
        self.identifier = identifier
        self.keyIdentifier = keyIdentifier
        self.nonce = nonce
        self.signature = signature
        self.timestamp = timestamp
    }
}
