#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Why something could not be done.
///
/// `errorDescription` is for people, `description` for logs; neither has a secret in it.
public struct PurchaseError: Error, Sendable, Hashable {
    /// What it was, for programs and for your own translations.
    public let code: Code
    /// What exactly, for logs: no token, no proof.
    public let detail: String

    /// What it was.
    public enum Code: String, Sendable, Hashable, CaseIterable {
        /// Nobody is logged in. Nothing was paid.
        case accountRequired = "account_required"
        /// Another account has logged in since the button was pressed. Nothing was paid.
        case accountChanged = "account_changed"
        /// This person may not pay on this device. Nothing was paid.
        case paymentsNotAllowed = "payments_not_allowed"
        /// The store does not sell the product. Nothing was paid.
        case productUnavailable = "product_unavailable"
        /// Product id, quantity, account or reference are none. Nothing was paid.
        case orderInvalid = "order_invalid"
        /// The server gave no intent: no network, or it does not work. Nothing was paid.
        case serverUnavailable = "server_unavailable"
        /// The server refused the intent. Nothing was paid.
        case serverRefused = "server_refused"
        /// The subscription offer could not be signed, or is not for this player. Nothing was paid.
        case offerUnavailable = "offer_unavailable"
        /// The journal cannot be written. Nothing was paid.
        case storageUnavailable = "storage_unavailable"
        /// Too much waits already. Nothing was paid.
        case queueFull = "queue_full"
        /// The store failed; it may have been paid all the same, and is delivered then.
        case storeFailed = "store_failed"
        /// The store could not restore. It is no error of a purchase, and says nothing about charges.
        case restoreFailed = "restore_failed"
        /// Another process of the app, or another queue, has the journal.
        case journalInUse = "journal_in_use"
        /// The queue was stopped.
        case stopped
        /// The queue has no such transaction.
        case transactionUnknown = "transaction_unknown"
    }

    /// An error.
    public init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    /// Whether it is certain that nothing was paid.
    public var isNothingPaid: Bool {
        switch code {
        case .storeFailed, .restoreFailed, .journalInUse, .stopped, .transactionUnknown: false
        default: true
        }
    }
}

extension PurchaseError: LocalizedError, CustomStringConvertible {
    /// A sentence for people, in English; `code` is the key for your own words.
    public var errorDescription: String? {
        switch code {
        case .accountRequired: "Please log in first. You have not been charged."
        case .accountChanged: "Another player has logged in. You have not been charged."
        case .paymentsNotAllowed: "Purchases are not allowed on this device. You have not been charged."
        case .productUnavailable: "This is not for sale right now. You have not been charged."
        case .orderInvalid: "This cannot be bought. You have not been charged."
        case .serverUnavailable: "The shop cannot be reached. You have not been charged. Try again later."
        case .serverRefused: "The shop does not take this order right now. You have not been charged."
        case .offerUnavailable: "This offer cannot be had right now. You have not been charged."
        case .storageUnavailable: "This device has no room left. You have not been charged. Make room and try again."
        case .queueFull: "Earlier purchases are still on their way. You have not been charged. Try again later."
        case .storeFailed: "The App Store could not complete this. If you were charged, you will get it by itself."
        case .restoreFailed: "The App Store could not be asked for your purchases. Try again later."
        case .journalInUse: "Purchases are being delivered already."
        case .stopped: "The shop is closed. What you paid for is delivered at the next start."
        case .transactionUnknown: "This purchase is not known on this device."
        }
    }

    /// A line for logs.
    public var description: String {
        "\(code.rawValue): \(detail)"
    }
}
