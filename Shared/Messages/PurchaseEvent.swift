package import Foundation
package import PurchaseModel

/// What happened, as the studio's backend is told: the body of an event, of a Kafka message and of a webhook alike.
///
/// Small and free of receipts; a consumer ignores what it does not know.
package struct PurchaseEvent: Codable, Sendable, Hashable {
    /// The date of this shape; it grows only by fields.
    package static let schemaVersion = "2026-11-01"
    /// What the types of all events begin with.
    package static let typePrefix = "iap."
    /// The versions that a receiver may have been written for, the newest last.
    package static let schemaVersions = [schemaVersion]

    /// `evt_` and 32 hexadecimal digits that sort by time; the same in every repetition.
    package var id: String
    /// One of the types above.
    package var type: String
    /// When it happened.
    package var timestamp: Date
    /// The date of the body's shape.
    package var schemaVersion: String
    /// Whose purchases it is about.
    package var store: Store
    /// Production or sandbox.
    package var environment: StoreEnvironment
    /// The app's bundle id.
    package var app: String
    /// Whose it is, with a number that grows by one for each event of that account.
    package var customer: Customer?
    /// Follows a purchase from the request to the webhook.
    package var correlationId: String
    /// The transaction and what it brought.
    package var data: Payload

    /// The account that an event is about.
    package struct Customer: Codable, Sendable, Hashable {
        /// The studio's own id of the account.
        package var id: String
        /// 1, 2, 3, … for each event of this account, app and environment.
        package var sequence: Int64
        /// The UUID that the app had set.
        package var appAccountToken: UUID?

        enum CodingKeys: String, CodingKey {
            case id, sequence
            case appAccountToken = "app_account_token"
        }
    }

    /// The content of an event.
    package struct Payload: Codable, Sendable, Hashable {
        /// The transaction, without its evidence; nil only of what a person did by hand.
        package var transaction: Transaction?
        /// The order's state after the event.
        package var state: OrderState?
        /// Why it is not granted.
        package var reason: ReasonCode?
        /// What was credited; below zero what was taken.
        package var entries: [Catalogue.ItemGrant]
        /// What the account may use from now on; of an event that takes something away, what it may use no more.
        package var entitlements: [String]
        /// Where the subscription stands now.
        package var subscription: SubscriptionStanding?
        /// Where it stood before.
        package var previousSubscription: SubscriptionStanding?
        /// Whose it was, and whose it is.
        package var binding: BindingChange?
        /// True where an older system granted it, before its cut-over, and nothing of it is in the ledger; absent otherwise.
        package var grantedElsewhere: Bool?
        /// By asking what Apple was found to have it, where nobody had told: `notifications`, `failures`, `history`, `refunds`
        /// or `statuses`.
        package var recoveredBy: String?
        /// The app's own number of the order, which it gave with the intent that the purchase was made with.
        package var reference: String?

        /// Makes a content.
        package init(
            transaction: Transaction?, state: OrderState? = nil, reason: ReasonCode? = nil,
            entries: [Catalogue.ItemGrant] = [], entitlements: [String] = [],
            subscription: SubscriptionStanding? = nil, previousSubscription: SubscriptionStanding? = nil,
            binding: BindingChange? = nil, isGrantedElsewhere: Bool = false, recoveredBy: String? = nil
        ) {
            self.transaction = transaction.map {
                var bare = $0
                bare.evidence = nil
                bare.sources = nil
                bare.teller = nil
                bare.bundleField = nil
                bare.contradictingTypes = nil
                return bare
            }
            self.state = state
            self.reason = reason
            self.entries = entries
            self.entitlements = entitlements
            self.subscription = subscription
            self.previousSubscription = previousSubscription
            self.binding = binding
            grantedElsewhere = isGrantedElsewhere ? true : nil
            self.recoveredBy = recoveredBy
        }

        enum CodingKeys: String, CodingKey {
            case transaction, state, reason, entries, entitlements, subscription, binding, reference
            case previousSubscription = "previous_subscription"
            case grantedElsewhere = "granted_elsewhere"
            case recoveredBy = "recovered_by"
        }
    }

    /// Makes an event.
    package init(
        id: String, type: String, timestamp: Date, environment: StoreEnvironment, app: String, customer: Customer?,
        correlationId: String, data: Payload
    ) {
        self.id = id
        self.type = type
        self.timestamp = timestamp
        self.schemaVersion = Self.schemaVersion
        store = .appStore
        self.environment = environment
        self.app = app
        self.customer = customer
        self.correlationId = correlationId
        self.data = data
    }

    enum CodingKeys: String, CodingKey {
        case id, type, timestamp, store, environment, app, customer, data
        case schemaVersion = "schema_version"
        case correlationId = "correlation_id"
    }
}

extension PurchaseEvent.Customer {
    /// Names an account and the number of its event.
    package init(id: String, sequence: Int64, token: UUID?) {
        self.init(id: id, sequence: sequence, appAccountToken: token)
    }
}

extension PurchaseEvent.Payload {
    /// What an order's decision amounts to.
    package init(_ transaction: Transaction, _ decision: OrderDecision) {
        self.init(
            transaction: transaction, state: decision.state, reason: decision.reason, entries: decision.items,
            entitlements: decision.entitlements, isGrantedElsewhere: decision.cutOver != nil)
    }
}

/// Ids of events and requests: a prefix and a UUID of version 7, so that they sort by time.
///
/// Source: RFC 9562, section 5.7.
package enum EventIdentifier {
    /// A new id, `evt_` and 32 hexadecimal digits.
    package static func event(at date: Date) -> String {
        "evt_" + version7(at: date)
    }

    /// What no id of an event that was made at this time or later sorts before.
    package static func eventFloor(at date: Date) -> String {
        "evt_" + String(padded(milliseconds(date) << 16).dropLast(4))
    }

    /// A new correlation id, `req_` and 32 hexadecimal digits.
    package static func correlation(at date: Date) -> String {
        "req_" + version7(at: date)
    }

    private static func version7(at date: Date) -> String {
        let high = milliseconds(date) << 16 | 0x7000 | UInt64.random(in: 0...0xFFF)
        let low = 0x8000_0000_0000_0000 | UInt64.random(in: 0...0x3FFF_FFFF_FFFF_FFFF)
        return padded(high) + padded(low)
    }

    private static func milliseconds(_ date: Date) -> UInt64 {
        UInt64(max(0, date.timeIntervalSince1970 * 1000)) & 0xFFFF_FFFF_FFFF
    }

    private static func padded(_ value: UInt64) -> String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
