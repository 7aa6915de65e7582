/// What `verifyReceipt` answers with (apple-facts C10; Apple's page "status", verifyReceipt).
enum VerifyReceiptStatus {
    static let valid: Int64 = 0
    /// The request was no POST.
    static let notPost: Int64 = 21000
    static let malformed: Int64 = 21002
    static let notAuthentic: Int64 = 21003
    static let wrongSharedSecret: Int64 = 21004
    /// Valid, but the subscription expired; only for receipts of iOS 6, so it is answered on demand only.
    static let subscriptionExpired: Int64 = 21006
    static let sandboxReceiptInProduction: Int64 = 21007
    static let productionReceiptInSandbox: Int64 = 21008
    static let accountNotFound: Int64 = 21010

    /// Whether it can be demanded.
    static func canBeDemanded(_ status: Int64) -> Bool {
        (21000...21010).contains(status) || (21100...21199).contains(status)
    }

    /// Whether `verifyReceipt` says its environment beside it: once it knows whose receipt it is.
    static func namesEnvironment(_ status: Int64) -> Bool {
        switch status {
        case notPost, malformed, sandboxReceiptInProduction, productionReceiptInSandbox: false
        default: true
        }
    }
}
