import Foundation
import HTTPTypes
import Synchronization

/// Makes forgeries; its false chains are made once.
struct ForgeryWorkshop: Sendable {
    private let authority: CertificateAuthority
    private let stranger: CertificateAuthority
    private let shelf = SignerShelf()
    private let strangers = StrangersReceipts()

    /// A forger beside an authority, who has its keys: otherwise most forgeries would fail more than one check.
    init(authority: CertificateAuthority) throws {
        self.authority = authority
        stranger = try CertificateAuthority(now: Date(), ocspURL: authority.ocspURL)
    }

    /// A forged transaction.
    ///
    /// - Parameter signedDate: the store's time, milliseconds since 1970.
    func forge(_ forgery: Forgery, _ transaction: TransactionRecord, signedDate: Int64) throws -> String {
        try forgery.make(
            ForgeryMaterial(
                transaction: transaction, signedDate: signedDate, authority: authority, stranger: stranger,
                shelf: shelf, now: Date()))
    }

    /// Signs below a root that nobody trusts.
    func strangersSigner() throws -> PayloadSigner {
        try shelf.signer("self_made_chain") { try PayloadSigner(chain: stranger.chain) }
    }

    /// Signs with the leaked key of a leaf that was valid in 2015.
    func expiredSigner() throws -> PayloadSigner {
        try shelf.signer("leaked_key_of_expired_leaf") {
            var leaf = CertificateRecipe.leaf
            leaf.notValidBefore = Instant.past.lowerBound
            leaf.notValidAfter = Instant.past.upperBound
            return try PayloadSigner(chain: authority.chain(replacingLeaf: leaf, now: Date()))
        }
    }

    /// Signs receipts below a root that nobody trusts.
    func strangersReceipts() throws -> ReceiptAuthority { try strangers.authority() }
}

/// An attacker's authority for receipts, made when somebody asks for it: its keys take some tenths of a second.
private final class StrangersReceipts: Sendable {
    private let made = Mutex<ReceiptAuthority?>(nil)

    func authority() throws -> ReceiptAuthority {
        if let known = made.withLock({ $0 }) { return known }
        let authority = try ReceiptAuthority(now: Date())
        return made.withLock { made in
            let kept = made ?? authority
            made = kept
            return kept
        }
    }
}

/// The body of `POST /simulator/v1/forgeries` and `attacks`: a kind, and the sale to forge.
struct ForgeryRequest: Decodable, Sendable {
    let kind: String
    private let sale: SaleRequest
    private let type: ProductType

    private enum CodingKeys: String, CodingKey {
        case kind
        case type
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        kind = try container.decode(String.self, forKey: .kind)
        type = try container.decodeIfPresent(ProductType.self, forKey: .type) ?? .consumable
        sale = try SaleRequest(from: decoder)
    }

    /// What is bought, checked.
    ///
    /// - Throws: a ``Problem`` that names the first field that will not do.
    func purchase() throws(Problem) -> Purchase {
        guard sale.count ?? 1 == 1 else { throw Problem(.badRequest, "count: forgeries are made one at a time") }
        return try sale.purchase()
    }

    /// The product of a purchase: a registered one, or one of the type that was asked for.
    func product(of purchase: Purchase, in state: StoreState) -> ProductRecord {
        state.products[ProductRecord.key(purchase.bundleId, purchase.productId)]
            ?? .unregistered(purchase.bundleId, purchase.productId, type)
    }

    /// Makes the product and its app, if the store does not know them.
    func ensureProduct(of purchase: Purchase, in state: inout StoreState) throws {
        guard state.products[ProductRecord.key(purchase.bundleId, purchase.productId)] == nil else { return }
        _ = state.ensureApp(purchase.bundleId)
        state.put(product(of: purchase, in: state))
    }

    /// A transaction that the store does not keep: for a forgery it has an id, and no more.
    func transaction(of purchase: Purchase, in state: inout StoreState, now: Int64) -> TransactionRecord {
        let product = product(of: purchase, in: state)
        var transaction = state.makeTransaction(purchase, product: product, now: now)
        if product.type == .autoRenewableSubscription {
            transaction.webOrderLineItemId = StoreState.webOrderLineItemId(of: transaction.transactionId)
            transaction.subscriptionGroupIdentifier = product.subscriptionGroupIdentifier
            transaction.expiresDate =
                purchase.expiresDate ?? (product.period ?? Period(1, .month)).added(to: transaction.purchaseDate)
            transaction.isRenewal = purchase.originalTransactionId != nil
        }
        return transaction
    }
}
