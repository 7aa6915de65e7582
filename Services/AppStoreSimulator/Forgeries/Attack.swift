import Foundation
import HTTPTypes

/// Something hostile that a check of one signature does not stop, or that is no transaction: replays of what is genuine,
/// receipts, server notifications.
struct Attack: Sendable {
    /// Something that an attacker posts.
    struct Artefact: Sendable {
        enum Kind: String, Sendable {
            case transaction
            case renewalInfo
            case notification
            case receipt
        }

        let kind: Kind
        /// A JWS, or a receipt in base64.
        let value: String
        /// How often it is posted.
        var times = 1

        static func transaction(_ value: String) -> Artefact { Artefact(kind: .transaction, value: value) }
        static func renewalInfo(_ value: String) -> Artefact { Artefact(kind: .renewalInfo, value: value) }
        static func notification(_ value: String) -> Artefact { Artefact(kind: .notification, value: value) }
        static func receipt(_ value: String) -> Artefact { Artefact(kind: .receipt, value: value) }
    }

    /// Its name in the control API.
    let kind: String
    /// What it is, a sentence.
    let what: String
    /// What a good backend does, a sentence.
    let goodBackend: String
    /// What is posted, in this order.
    let make: @Sendable (AttackMaterial) async throws -> [Artefact]

    init(
        _ kind: String, _ what: String, goodBackend: String,
        _ make: @escaping @Sendable (AttackMaterial) async throws -> [Artefact]
    ) {
        self.kind = kind
        self.what = what
        self.goodBackend = goodBackend
        self.make = make
    }

    static let all = [replays, lies, notifications, nested, receipts, lacking, unreadable].flatMap { $0 }

    static func named(_ kind: String) -> Attack? { all.first { $0.kind == kind } }
}

/// What an attacker buys, and the keys to forge the rest.
///
/// A class, because it is large and goes through asynchronous closures.
final class AttackMaterial: Sendable {
    let store: Store
    let signer: PayloadSigner
    let request: ForgeryRequest
    let purchase: Purchase
    let workshop: ForgeryWorkshop
    let receipts: ReceiptAuthority

    init(
        store: Store, signer: PayloadSigner, request: ForgeryRequest, purchase: Purchase, workshop: ForgeryWorkshop,
        receipts: ReceiptAuthority
    ) {
        self.store = store
        self.signer = signer
        self.request = request
        self.purchase = purchase
        self.workshop = workshop
        self.receipts = receipts
    }

    /// The store's time, milliseconds since 1970.
    var now: Int64 { store.clock.now }

    /// Buys, so that the store knows of it, as it knows of everything genuine.
    func buy(_ change: @Sendable (inout Purchase) -> Void = { _ in }) async throws -> TransactionRecord {
        var purchase = purchase
        change(&purchase)
        let sale = purchase
        let outcome = try await store.change { state, now in
            try request.ensureProduct(of: sale, in: &state)
            return try state.buy(sale, now: now)
        }
        guard let transaction = outcome.transaction else {
            throw Problem(.conflict, "the account cannot buy at once: \(outcome.name)")
        }
        return transaction
    }

    /// The app, made when nobody sold anything of it yet.
    func app(_ bundleId: String? = nil) async throws -> AppRecord {
        let bundleId = bundleId ?? purchase.bundleId
        return try await store.change { state, _ in state.ensureApp(bundleId) }
    }

    func sign(_ transaction: TransactionRecord, signedDate: Int64? = nil) throws -> String {
        try signer.sign(transaction.payload(signedDate: signedDate ?? now))
    }

    /// A payload signed below a root that nobody trusts.
    func signAsStranger(_ payload: String) throws -> String { try workshop.strangersSigner().sign(payload) }

    /// A payload that nobody signed: alg is none, and the signature is empty.
    func unsigned(_ payload: String) -> String {
        "\(Base64URL.encode(Array("{\"alg\":\"none\"}".utf8))).\(Base64URL.encode(Array(payload.utf8)))."
    }

    /// The payload of a server notification about a transaction.
    ///
    /// - Parameters:
    ///   - app: whose it claims to be.
    ///   - transaction: signed.
    ///   - renewalInfo: signed.
    func notification(
        _ type: NotificationType, app: AppRecord, environment: StoreEnvironment, transaction: String,
        renewalInfo: String? = nil
    ) -> String {
        NotificationPayload(
            notificationType: type.rawValue, subtype: nil, notificationUUID: UUID().uuidString.lowercased(),
            content: .data(
                app.notificationData(
                    environment: environment, transaction: transaction, renewalInfo: renewalInfo,
                    status: renewalInfo == nil ? nil : .active)),
            signedDate: now
        ).text
    }

    /// A subscription's renewal info; the store does not know this subscription.
    ///
    /// - Parameter originalTransactionId: the subscription's.
    func renewalInfo(of transaction: TransactionRecord, originalTransactionId: String) throws -> String {
        let renewalDate = transaction.purchaseDate + 30 * 86_400_000
        return try signer.sign(
            SubscriptionRecord(
                originalTransactionId: originalTransactionId, bundleId: transaction.bundleId,
                subscriptionGroupIdentifier: String(Number.derived(from: transaction.bundleId, digits: 8)),
                accountId: transaction.accountId, environment: transaction.environment,
                productId: transaction.productId, autoRenewProductId: transaction.productId, autoRenews: true,
                status: .active, recentSubscriptionStartDate: transaction.purchaseDate, renewalDate: renewalDate,
                transactionId: transaction.transactionId, appAccountToken: transaction.appAccountToken,
                renewalPrice: transaction.price ?? 0, currency: transaction.currency ?? "USD"
            ).renewalInfo(appTransactionId: transaction.appTransactionId, signedDate: now))
    }
}
