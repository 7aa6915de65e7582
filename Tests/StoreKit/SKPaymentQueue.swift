// The names are Apple's, and documented at the addresses.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation, BeginDocumentationCommentWithOneLineSummary

public import Foundation

/// developer.apple.com/documentation/storekit/skpaymentqueue
open class SKPaymentQueue: NSObject {
    private let device: any StoreKitDevice

    package init(device: any StoreKitDevice) { self.device = device }

    open class func `default`() -> SKPaymentQueue { StoreKitDevices.device.paymentQueue }
    open class func canMakePayments() -> Bool { StoreKitDevices.device.canMakePayments }

    /// Only valid while the queue has observers, as its header says.
    open var transactions: [SKPaymentTransaction] { device.paymentTransactions }

    open func add(_ payment: SKPayment) { device.add(payment) }
    open func add(_ observer: any SKPaymentTransactionObserver) { device.add(observer) }
    open func remove(_ observer: any SKPaymentTransactionObserver) { device.remove(observer) }
    open func finishTransaction(_ transaction: SKPaymentTransaction) { device.finish(transaction) }
    open func restoreCompletedTransactions() { device.restoreCompletedTransactions() }
}

/// developer.apple.com/documentation/storekit/skpaymenttransactionobserver; all but the first are optional there.
public protocol SKPaymentTransactionObserver: NSObjectProtocol {
    func paymentQueue(_ queue: SKPaymentQueue, updatedTransactions transactions: [SKPaymentTransaction])
    func paymentQueue(_ queue: SKPaymentQueue, restoreCompletedTransactionsFailedWithError error: any Error)
    func paymentQueueRestoreCompletedTransactionsFinished(_ queue: SKPaymentQueue)
    func paymentQueue(
        _ queue: SKPaymentQueue, shouldAddStorePayment payment: SKPayment, for product: SKProduct
    ) -> Bool
}

/// developer.apple.com/documentation/storekit/skpaymenttransactionstate
public enum SKPaymentTransactionState: Int, Sendable {
    case purchasing = 0
    case purchased = 1
    case failed = 2
    case restored = 3
    case deferred = 4
}

/// developer.apple.com/documentation/storekit/skpaymenttransaction
open class SKPaymentTransaction: NSObject {
    public let payment: SKPayment
    public let transactionState: SKPaymentTransactionState
    public let transactionIdentifier: String?
    public let transactionDate: Date?
    public let original: SKPaymentTransaction?
    public let error: (any Error)?

    package init(
        payment: SKPayment, state: SKPaymentTransactionState, identifier: String? = nil,
        original: SKPaymentTransaction? = nil, error: (any Error)? = nil
    ) {
        self.payment = payment
        transactionState = state
        transactionIdentifier = identifier
        transactionDate = identifier == nil ? nil : Date()
        self.original = original
        self.error = error
    }
}

/// developer.apple.com/documentation/storekit/skerror
public struct SKError: Error, Sendable {
    /// developer.apple.com/documentation/storekit/skerror/code
    public enum Code: Int, Sendable {
        case unknown = 0
        case clientInvalid = 1
        case paymentCancelled = 2
        case paymentInvalid = 3
        case paymentNotAllowed = 4
        case storeProductNotAvailable = 5
        case cloudServicePermissionDenied = 6
        case cloudServiceNetworkConnectionFailed = 7
        case cloudServiceRevoked = 8
        case privacyAcknowledgementRequired = 9
        case unauthorizedRequestData = 10
        case invalidOfferIdentifier = 11
        case invalidSignature = 12
        case missingOfferParams = 13
        case invalidOfferPrice = 14
        case overlayCancelled = 15
        case ineligibleForOffer = 18
    }

    public let code: Code

    package init(_ code: Code) { self.code = code }
}
