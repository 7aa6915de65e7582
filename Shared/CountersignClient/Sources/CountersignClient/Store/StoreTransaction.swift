#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A transaction as the store gave it; nothing in it is believed before the server has checked the proof.
public struct StoreTransaction: Sendable, Hashable {
    /// Apple's id of the transaction.
    public var id: String
    /// The id of the lineage's first transaction; nil where the store does not say.
    ///
    /// Another one than `id` for renewals and restored purchases.
    public var originalID: String?
    /// The product's id.
    public var productID: String
    /// How many.
    public var quantity: Int
    /// `appAccountToken`, or `applicationUsername` where it is a UUID.
    public var accountToken: UUID?
    /// `applicationUsername` where it is no UUID: a name that an earlier version of the app wrote.
    ///
    /// ``QueueConfiguration/legacyAccount`` says whose it is.
    public var username: String?
    /// Where it was bought; nil where the store does not say.
    public var environment: StoreEnvironment?
    /// How it came about.
    public var origin: Origin
    /// Whether it was refunded or taken back: StoreKit 2 gives such a transaction once more.
    public var isRevoked: Bool
    /// What the server judges it by.
    public var proof: StoreProof

    /// How a transaction came about, as far as the store says.
    public enum Origin: String, Sendable, Hashable {
        /// Somebody bought it.
        case purchase
        /// A subscription renewed by itself.
        case renewal
        /// The store gave it again when asked to restore.
        case restored
    }

    /// A transaction.
    public init(
        id: String, originalID: String? = nil, productID: String, quantity: Int = 1, accountToken: UUID? = nil,
        username: String? = nil, environment: StoreEnvironment? = nil, origin: Origin = .purchase,
        isRevoked: Bool = false, proof: StoreProof
    ) {
        self.id = id
        self.originalID = originalID
        self.productID = productID
        self.quantity = quantity
        self.accountToken = accountToken
        self.username = username
        self.environment = environment
        self.origin = origin
        self.isRevoked = isRevoked
        self.proof = proof
    }
}

/// What proves a transaction.
public enum StoreProof: Sendable, Hashable {
    /// StoreKit 2's `jwsRepresentation`. It has the account token inside, for whoever posts it.
    case signedTransaction(String)
    /// The app's receipt (StoreKit 1), which the queue asks the store for when it posts. It has no account token inside, and
    /// the store may forget the token when the app restarts.
    case receipt
}

/// Which of Apple's two stores sold it.
public enum StoreEnvironment: String, Sendable, Hashable {
    case production, sandbox
}
