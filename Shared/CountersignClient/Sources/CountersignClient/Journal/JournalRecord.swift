#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// One step of a purchase, as it is kept.
enum JournalRecord: Hashable, Sendable {
    /// An account is about to buy a product: written before the payment sheet opens.
    case intent(PurchaseIntent)
    /// How the payment sheet of an intent ended, where nothing was bought yet.
    case intentEnded(UUID, PurchaseIntent.State)
    /// The store gave a transaction, and what is known of its buyer.
    case paid(StoreTransaction, intent: UUID?, buyer: Buyer)
    /// Somebody said whose it is.
    case claimed(PurchaseKey, account: String)
    /// The server answered that it may be finished.
    case answered(PurchaseKey)
    /// The store was told that it is finished.
    case finished(PurchaseKey)
    /// Of a kind that this version does not know: kept as it is.
    case unknown([UInt8])
}

extension JournalRecord {
    /// The record's payload.
    ///
    /// - Throws: `EncodingError`.
    func payload() throws -> [UInt8] {
        if case .unknown(let bytes) = self { return bytes }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(RecordFields(self)))
    }

    /// Reads a payload; nil where it is no record at all, which a checksum makes unlikely.
    init?(payload: [UInt8]) {
        guard let fields = try? JSONDecoder().decode(RecordFields.self, from: Data(payload)) else { return nil }
        self = fields.record ?? .unknown(payload)
    }
}

/// A record as JSON: all fields of all kinds, of which each kind uses some.
private struct RecordFields: Codable {
    var kind: String
    var intent: UUID?
    var account: String?
    var product: String?
    var isKnownToServer: Bool?
    var state: String?
    var transaction: String?
    var isRevoked: Bool?
    var original: String?
    var quantity: Int?
    var token: UUID?
    var username: String?
    var environment: String?
    var origin: String?
    var signed: String?
    var buyer: String?
    var reference: String?

    enum CodingKeys: String, CodingKey {
        case kind, intent, account, product, state, transaction, original, quantity, token, username, environment,
            origin, signed
        case buyer, reference
        case isKnownToServer = "known_to_server"
        case isRevoked = "revoked"
    }

    init(_ record: JournalRecord) {
        switch record {
        case .intent(let value):
            kind = "intent"
            intent = value.id
            account = value.account
            product = value.productID
            isKnownToServer = value.isKnownToServer
            reference = value.reference
            state = value.state.text
            transaction = value.state.transactionID
        case .intentEnded(let id, let ended):
            kind = "intent_ended"
            intent = id
            state = ended.text
            transaction = ended.transactionID
        case .paid(let value, let boughtWith, let whose):
            kind = "paid"
            intent = boughtWith
            fill(value, whose)
        case .claimed(let key, let name):
            kind = "claimed"
            fill(key)
            account = name
        case .answered(let key):
            kind = "answered"
            fill(key)
        case .finished(let key):
            kind = "finished"
            fill(key)
        case .unknown: kind = "unknown"
        }
    }

    private mutating func fill(_ key: PurchaseKey) {
        transaction = key.id
        isRevoked = key.isRevoked ? true : nil
    }

    private mutating func fill(_ value: StoreTransaction, _ whose: Buyer) {
        fill(PurchaseKey(value))
        original = value.originalID
        product = value.productID
        quantity = value.quantity
        token = value.accountToken
        username = value.username
        environment = value.environment?.rawValue
        origin = value.origin.rawValue
        if case .signedTransaction(let text) = value.proof { signed = text }
        buyer = whose.text
        account = whose.account
    }

    /// The record; nil for a kind, or a value, that this version does not know.
    var record: JournalRecord? {
        switch kind {
        case "intent":
            guard let intent, let account, let product, let state = intentState else { return nil }
            return .intent(
                PurchaseIntent(
                    id: intent, account: account, productID: product, isKnownToServer: isKnownToServer ?? true,
                    reference: reference, state: state))
        case "intent_ended":
            guard let intent, let state = intentState else { return nil }
            return .intentEnded(intent, state)
        case "paid":
            guard let value = storeTransaction, let buyer = buyer.flatMap({ Buyer(text: $0, account: account) }) else {
                return nil
            }
            return .paid(value, intent: intent, buyer: buyer)
        case "claimed":
            guard let key, let account else { return nil }
            return .claimed(key, account: account)
        case "answered": return key.map { .answered($0) }
        case "finished": return key.map { .finished($0) }
        default: return nil
        }
    }

    private var key: PurchaseKey? {
        transaction.map { PurchaseKey(id: $0, isRevoked: isRevoked ?? false) }
    }

    private var intentState: PurchaseIntent.State? {
        state.flatMap { PurchaseIntent.State(text: $0, transactionID: transaction) }
    }

    private var storeTransaction: StoreTransaction? {
        guard let transaction, let product else { return nil }
        return StoreTransaction(
            id: transaction, originalID: original, productID: product, quantity: quantity ?? 1, accountToken: token,
            username: username, environment: environment.flatMap(StoreEnvironment.init(rawValue:)),
            origin: origin.flatMap(StoreTransaction.Origin.init(rawValue:)) ?? .purchase,
            isRevoked: isRevoked ?? false, proof: signed.map { .signedTransaction($0) } ?? .receipt)
    }
}
