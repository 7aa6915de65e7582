#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// An account is about to buy a product, or did.
struct PurchaseIntent: Hashable, Sendable {
    /// The UUID that the store is given as account token.
    let id: UUID
    let account: String
    let productID: String
    /// Whether the server gave the UUID; else only this journal knows whose it is, and the store is given none.
    let isKnownToServer: Bool
    /// The app's own number of the order.
    var reference: String?
    var state: State = .open

    /// How far an intent is.
    enum State: Hashable, Sendable {
        /// The payment sheet is open, or the app ended while it was.
        case open
        /// It waits for somebody's approval.
        case pending
        /// The person closed the payment sheet. An interrupted purchase may come all the same.
        case cancelled
        /// It became this transaction.
        case paid(String)

        /// The state as a word of the journal.
        var text: String {
            switch self {
            case .open: "open"
            case .pending: "pending"
            case .cancelled: "cancelled"
            case .paid: "paid"
            }
        }

        var transactionID: String? {
            if case .paid(let id) = self { id } else { nil }
        }

        /// Reads a word of the journal; nil for any other.
        init?(text: String, transactionID: String?) {
            switch text {
            case "open": self = .open
            case "pending": self = .pending
            case "cancelled": self = .cancelled
            case "paid":
                guard let transactionID else { return nil }
                self = .paid(transactionID)
            default: return nil
            }
        }
    }
}

/// Whose a purchase is, as far as this device knows.
enum Buyer: Hashable, Sendable {
    /// The account whose intent it was bought with, or that somebody claimed it for.
    case account(String)
    /// An account that only the token in Apple's data names.
    case named
    /// One of several accounts that were buying the product, without a token that says which.
    case doubtful
    /// Somebody whom only a name of an earlier version of the app says, and nobody knows whose name that is.
    case legacy
    /// Nobody's in particular: an offer code, another device, another Apple Account.
    case unknown

    /// The word of the journal.
    var text: String {
        switch self {
        case .account: "account"
        case .named: "named"
        case .doubtful: "doubtful"
        case .legacy: "legacy"
        case .unknown: "unknown"
        }
    }

    var account: String? {
        if case .account(let name) = self { name } else { nil }
    }

    /// Reads a word of the journal; nil for any other.
    init?(text: String, account: String?) {
        switch text {
        case "account":
            guard let account else { return nil }
            self = .account(account)
        case "named": self = .named
        case "doubtful": self = .doubtful
        case "legacy": self = .legacy
        case "unknown": self = .unknown
        default: return nil
        }
    }
}

/// What tells transactions apart: Apple's id, and whether it was revoked since.
struct PurchaseKey: Hashable, Sendable {
    let id: String
    let isRevoked: Bool

    init(id: String, isRevoked: Bool) {
        self.id = id
        self.isRevoked = isRevoked
    }

    init(_ transaction: StoreTransaction) {
        self.init(id: transaction.id, isRevoked: transaction.isRevoked)
    }
}
