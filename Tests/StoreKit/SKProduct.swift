// The names are Apple's, and documented at the addresses.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation, BeginDocumentationCommentWithOneLineSummary

public import Foundation

/// developer.apple.com/documentation/storekit/skproduct
open class SKProduct: NSObject {
    public let productIdentifier: String
    public let localizedTitle: String
    public let localizedDescription: String
    public let price: NSDecimalNumber
    public let priceLocale: Locale
    public let subscriptionGroupIdentifier: String?

    package init(
        id: String, title: String, description: String, price: NSDecimalNumber, locale: Locale, group: String? = nil
    ) {
        productIdentifier = id
        localizedTitle = title
        localizedDescription = description
        self.price = price
        priceLocale = locale
        subscriptionGroupIdentifier = group
    }
}

/// developer.apple.com/documentation/storekit/skrequest
open class SKRequest: NSObject {
    /// It is `delegate` in Objective-C, of another protocol in each subclass.
    package var listener: (any SKRequestDelegate)? { nil }

    open func start() { StoreKitDevices.device.start(self) }
    open func cancel() {}
}

/// developer.apple.com/documentation/storekit/skrequestdelegate; both are optional there.
public protocol SKRequestDelegate: NSObjectProtocol {
    func requestDidFinish(_ request: SKRequest)
    func request(_ request: SKRequest, didFailWithError error: any Error)
}

/// developer.apple.com/documentation/storekit/skproductsrequest
open class SKProductsRequest: SKRequest {
    package let identifiers: Set<String>
    weak open var delegate: (any SKProductsRequestDelegate)?

    public init(productIdentifiers: Set<String>) { identifiers = productIdentifiers }

    override package var listener: (any SKRequestDelegate)? { delegate }
}

/// developer.apple.com/documentation/storekit/skproductsrequestdelegate
public protocol SKProductsRequestDelegate: SKRequestDelegate {
    func productsRequest(_ request: SKProductsRequest, didReceive response: SKProductsResponse)
}

/// developer.apple.com/documentation/storekit/skproductsresponse
open class SKProductsResponse: NSObject {
    public let products: [SKProduct]
    public let invalidProductIdentifiers: [String]

    package init(products: [SKProduct], invalidProductIdentifiers: [String]) {
        self.products = products
        self.invalidProductIdentifiers = invalidProductIdentifiers
    }
}

/// developer.apple.com/documentation/storekit/skreceiptrefreshrequest
open class SKReceiptRefreshRequest: SKRequest {
    weak open var delegate: (any SKRequestDelegate)?

    public init(receiptProperties: [String: Any]?) {}

    override package var listener: (any SKRequestDelegate)? { delegate }
}
