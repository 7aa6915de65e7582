import Foundation
import PurchaseModel

/// What an inspection found, as the database tells it; see `InspectionStore`.
///
/// Times stay the texts that they came as, since a dossier is read by people and not calculated with.
struct Dossier: Decodable, Sendable {
    let submissions: [Submission]
    let orders: [Order]
    let orderTransactions: [OrderTransaction]
    let purchaseConflicts: [PurchaseConflict]
    let ledgerEntries: [LedgerEntry]
    let balances: [Balance]
    let entitlements: [Entitlement]
    let bindings: [Binding]
    let subscriptions: [Subscription]
    let events: [Event]
    let deliveries: [Delivery]
    let appleCalls: [AppleCall]
    let auditLog: [AuditRow]
    // Of an account alone.
    let counts: [String: Int64]?
    let accountTokens: [AccountToken]?
    let purchaseIntents: [Intent]?
    let shares: [Share]?
    let spends: [Spend]?
    let consents: [Consent]?

    struct AccountToken: Decodable, Sendable {
        let app, token, createdAt: String
    }

    struct Intent: Decodable, Sendable {
        let id, app, productId, createdAt: String
    }

    /// A purchase of another account that this one has a part in.
    struct Share: Decodable, Sendable {
        let environment, originalTransactionId, app, createdAt: String
    }

    struct Spend: Decodable, Sendable {
        let id: Int64
        let environment, app, idempotencyKey, createdAt: String
        let reference: String?
    }

    /// Whether the player agreed that Apple is told how much of a purchase was used.
    struct Consent: Decodable, Sendable {
        let app, changedAt: String
        let consented: Bool
    }

    struct Submission: Decodable, Sendable {
        let id, state, app, account, kind, receivedAt, correlationId: String
        let reason, dueAt, settledAt: String?
        let namedTransactionId, expectedEnvironment, alarmedAt: String?
        let attempts, proofBytes: Int
    }

    struct Order: Decodable, Sendable {
        let environment, transactionId, state, app, productId, productType, originalTransactionId: String
        let purchaseDate, submissionId, correlationId, createdAt: String
        let reason, account, expiresDate, revocationDate, appAccountToken, currency, storefront, grantedAt: String?
        let testPurchase, revocationType, revokedAt, ownership, bundleField: String?
        let quantity: Int
        let priceMilliunits, revocationPercentage: Int64?
        let grantedElsewhere: Bool
    }

    /// One of Apple's transaction ids of an order.
    struct OrderTransaction: Decodable, Sendable {
        let environment, transactionId, orderTransactionId, submissionId, createdAt: String
    }

    /// Signed data that contradicts what is known of an order.
    struct PurchaseConflict: Decodable, Sendable {
        let id: Int64
        let environment, app, transactionId, orderTransactionId, cause, submissionId, createdAt: String
        let resolvedAt: String?
    }

    struct LedgerEntry: Decodable, Sendable {
        let environment, kind, app, account, item, createdAt: String
        /// Nil for what an operator gave or took by hand.
        let transactionId: String?
        let amount: Int64
        let sequence: Int
    }

    struct Balance: Decodable, Sendable {
        let environment, app, account, item: String
        let amount: Int64
    }

    struct Entitlement: Decodable, Sendable {
        let environment, app, account, entitlement, transactionId, grantedAt: String
        let expiresAt, revokedAt, revokedBecause: String?
    }

    struct Binding: Decodable, Sendable {
        let environment, originalTransactionId, toAccount, cause, createdAt: String
        let fromAccount, policy, submissionId: String?
        let auditId: Int64?
    }

    struct Subscription: Decodable, Sendable {
        let environment, originalTransactionId, productId, transactionId, accessUntil, changedAt: String
        let state: SubscriptionState
        let account: String?
    }

    struct Event: Decodable, Sendable {
        let id, type, environment, app, createdAt: String
        /// Nil where an operator acted by hand.
        let transactionId: String?
        let account, dueAt: String?
        let sequence: Int64?
        let attempts: Int
    }

    struct Delivery: Decodable, Sendable {
        let eventId, endpointId, state, createdAt: String
        let dueAt, lastError, deliveredAt: String?
        let attempts: Int
        let lastStatus: Int?
    }

    /// What Apple was told of an order, or is to be told.
    struct AppleCall: Decodable, Sendable {
        let kind, environment, transactionId, state, createdAt: String
        let outcome, requestReason, deadlineAt, body, finishedAt: String?
        let attempts: Int
        let status: Int?
        let code: Int64?
    }

    struct AuditRow: Decodable, Sendable {
        let actor, action, subject, reason, createdAt: String
    }

    /// Reads the JSON of an inspection.
    ///
    /// - Throws: `DecodingError`, for a state too that this version does not know.
    init(json: String) throws {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        self = try decoder.decode(Dossier.self, from: Data(json.utf8))
    }
}
