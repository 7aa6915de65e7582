import Foundation
import HTTPTypes
import Hummingbird
import Messages
import NIOCore
import Persistence
import PurchaseModel

/// What `GET /v1/accounts/{id}` answers: `Account` in the OpenAPI document.
struct AccountAnswer: Encodable, Sendable {
    let app: String
    let environment: StoreEnvironment
    let account: String
    /// The number of the account's newest event.
    let version: Int64
    let entitlements: [Entitlement]
    let balances: [Balance]
    let subscriptions: [SubscriptionAnswer]
    /// Whether Apple may be told how much of a purchase was used; nil until somebody says.
    let consent: Consent?
    /// False when there is more than is told.
    let complete: Bool

    /// What the account said.
    struct Consent: Encodable, Sendable {
        let consented: Bool
        let changedAt: Date

        enum CodingKeys: String, CodingKey {
            case consented
            case changedAt = "changed_at"
        }
    }

    /// Something the account may use.
    struct Entitlement: Encodable, Sendable {
        let entitlement: String
        let transactionId: String
        let grantedAt: Date
        let expiresAt: Date?
        let active: Bool
        let revokedAt: Date?
        let revokedBecause: String?

        init(_ entitlement: AccountStore.Entitlement) {
            self.entitlement = entitlement.name
            transactionId = entitlement.transactionId
            grantedAt = entitlement.grantedAt
            expiresAt = entitlement.expiresAt
            active = entitlement.isActive
            revokedAt = entitlement.revokedAt
            revokedBecause = entitlement.revokedBecause
        }

        enum CodingKeys: String, CodingKey {
            case entitlement, active
            case transactionId = "transaction_id"
            case grantedAt = "granted_at"
            case expiresAt = "expires_at"
            case revokedAt = "revoked_at"
            case revokedBecause = "revoked_because"
        }
    }

    /// A total of one item; below zero is a debt.
    struct Balance: Encodable, Sendable {
        let item: String
        let amount: Int64
    }

    init(_ account: AccountStore.Account, of customer: Customer) {
        app = customer.app
        environment = customer.environment
        self.account = customer.account.text
        version = account.version
        entitlements = account.entitlements.map(Entitlement.init)
        balances = account.balances.map { Balance(item: $0.item, amount: $0.amount) }
        subscriptions = account.subscriptions.map(SubscriptionAnswer.init)
        consent = account.consent.map { Consent(consented: $0.isGiven, changedAt: $0.changedAt) }
        complete = account.isComplete
    }
}

/// Where a subscription stands: `Subscription` in the OpenAPI document.
///
/// Its members are those that events have, and two more.
struct SubscriptionAnswer: Encodable, Sendable {
    let subscription: AccountStore.Subscription

    private enum Key: String, CodingKey {
        case shared
        case changedAt = "changed_at"
    }

    func encode(to encoder: any Encoder) throws {
        try subscription.standing.encode(to: encoder)
        var members = encoder.container(keyedBy: Key.self)
        try members.encode(subscription.isShared, forKey: .shared)
        try members.encode(subscription.changedAt, forKey: .changedAt)
    }
}

/// One transaction: `Transaction` in the OpenAPI document.
struct TransactionAnswer: Encodable, Sendable {
    let transaction: AccountStore.Transaction

    private enum Key: String, CodingKey {
        case store, environment
        case transactionId = "transaction_id"
        case originalTransactionId = "original_transaction_id"
        case productId = "product_id"
        case productType = "product_type"
        case quantity, state, reason
        case purchaseDate = "purchased_at"
        case expiresDate = "expires_at"
        case revocationDate = "store_revoked_at"
        case revocationType = "revocation_type"
        case revocationPercentage = "revocation_percentage"
        case revokedAt = "revoked_at"
        case ownership
        case priceMilliunits = "price_milliunits"
        case currency, storefront
        case testPurchase = "test_purchase"
        case recordedAt = "created_at"
        case grantedAt = "granted_at"
        case grantedElsewhere = "granted_elsewhere"
    }

    func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: Key.self)
        try members.encode(Store.appStore, forKey: .store)
        try members.encode(transaction.environment, forKey: .environment)
        try members.encode(transaction.transactionId, forKey: .transactionId)
        try members.encode(transaction.originalTransactionId, forKey: .originalTransactionId)
        try members.encode(transaction.productId, forKey: .productId)
        try members.encode(transaction.productType, forKey: .productType)
        try members.encode(transaction.quantity, forKey: .quantity)
        try members.encode(transaction.state, forKey: .state)
        try members.encodeIfPresent(transaction.reason, forKey: .reason)
        try members.encode(transaction.purchaseDate, forKey: .purchaseDate)
        try members.encodeIfPresent(transaction.expiresDate, forKey: .expiresDate)
        try members.encodeIfPresent(transaction.revocationDate, forKey: .revocationDate)
        try members.encodeIfPresent(transaction.revocationType, forKey: .revocationType)
        try members.encodeIfPresent(transaction.revocationPercentage, forKey: .revocationPercentage)
        try members.encodeIfPresent(transaction.revokedAt, forKey: .revokedAt)
        try members.encodeIfPresent(transaction.ownership, forKey: .ownership)
        try members.encodeIfPresent(transaction.priceMilliunits, forKey: .priceMilliunits)
        try members.encodeIfPresent(transaction.currency, forKey: .currency)
        try members.encodeIfPresent(transaction.storefront, forKey: .storefront)
        try members.encodeIfPresent(transaction.testPurchase, forKey: .testPurchase)
        try members.encode(transaction.recordedAt, forKey: .recordedAt)
        try members.encodeIfPresent(transaction.grantedAt, forKey: .grantedAt)
        if transaction.isGrantedElsewhere { try members.encode(true, forKey: .grantedElsewhere) }
    }
}

extension ListAnswer<TransactionAnswer> {
    /// `TransactionPage` in the OpenAPI document.
    init(_ page: AccountStore.TransactionPage) {
        data = page.transactions.map(TransactionAnswer.init)
        next = page.next.map { ListCursor.text("\($0.microseconds)", $0.transactionId) }
    }
}

/// How answers to readers are sent.
enum ReadingAnswer {
    /// JSON that no cache keeps: it is of this moment, and somebody's own.
    ///
    /// - Throws: `EncodingError`.
    static func response(_ value: some Encodable) throws -> Response {
        response(try MessageCoding.encode(value), contentType: "application/json")
    }

    /// Where something of an app can be asked for, as `Location` says it.
    static func location(_ path: String, app: String) -> String {
        let plain = CharacterSet.alphanumerics.union(CharacterSet(charactersIn: "-._~"))
        return "\(path)?app=\(app.addingPercentEncoding(withAllowedCharacters: plain) ?? app)"
    }

    /// Bytes that no cache keeps.
    static func response(_ bytes: [UInt8], contentType: String) -> Response {
        Response(
            status: .ok, headers: [.contentType: contentType, .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }
}
