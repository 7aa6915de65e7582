import Foundation
import HTTPTypes

/// What an app asks for when a customer is about to buy elsewhere.
struct ExternalPurchaseOrder: Sendable {
    var bundleId: String
    var environment: StoreEnvironment
    /// `SERVICES` or `ACQUISITION`: a custom link token, which expires; nil for the first generation, which does not.
    var tokenType: String?
    /// Of a custom link token; milliseconds since 1970.
    var expirationDate: Int64?
    /// From one reminder to the next, milliseconds.
    var reminderInterval: Int64?
}

extension StoreState {
    enum ExternalPurchase {
        /// Apple's two types of custom link tokens.
        static let tokenTypes = ["SERVICES", "ACQUISITION"]
        /// After its creation, a token of the first generation is missed: ten days (apple-facts C16).
        static let patience: Int64 = 10 * 86_400_000
        /// From one ACTIVE_TOKEN_REMINDER to the next; Apple reminds monthly.
        static let reminderInterval: Int64 = 30 * 86_400_000
        /// How long a custom link token lives when nobody says: our choice.
        static let lifetime = Period(1, .year)
        /// Tokens that are kept.
        static let countMaximum = 100_000
    }

    /// Makes an external purchase token, and tells the app's server: CREATED.
    mutating func createExternalPurchase(_ order: ExternalPurchaseOrder, now: Int64) throws -> ExternalPurchaseRecord {
        guard apps[order.bundleId] != nil else { throw Problem(.notFound, "bundleId: no such app") }
        guard externalPurchases.count < ExternalPurchase.countMaximum else {
            throw Problem(.insufficientStorage, "the store keeps \(ExternalPurchase.countMaximum) tokens at most")
        }
        let expirationDate =
            order.tokenType == nil ? nil : order.expirationDate ?? ExternalPurchase.lifetime.added(to: now)
        let interval = order.reminderInterval ?? ExternalPurchase.reminderInterval
        let prefix = order.environment == .sandbox ? "SANDBOX_" : ""
        let record = ExternalPurchaseRecord(
            externalPurchaseId: prefix + UUID().uuidString.lowercased(), bundleId: order.bundleId,
            environment: order.environment, tokenType: order.tokenType, tokenCreationDate: now,
            tokenExpirationDate: expirationDate, isReported: false,
            nextNoticeDate: expirationDate.map { min($0, now + interval) } ?? now + ExternalPurchase.patience,
            reminderInterval: interval)
        put(record)
        notifyExternalPurchase(.created, record, now: now)
        return record
    }

    /// The developer's report on a token: it will not be missed.
    mutating func reportExternalPurchase(_ id: String) throws -> ExternalPurchaseRecord {
        guard var record = externalPurchases[id] else { throw Problem(.notFound, "no such token") }
        record.isReported = true
        if record.tokenExpirationDate == nil { record.nextNoticeDate = nil }
        put(record)
        return record
    }

    /// A notice about an external purchase token is due.
    ///
    /// Apple: a custom link token is reminded of while it is active, and missed soon after it expired; others are missed
    /// ten days after they were made.
    mutating func externalPurchaseFallsDue(_ id: String, now: Int64) {
        guard var record = externalPurchases[id], let due = record.nextNoticeDate, due <= now else { return }
        if let expirationDate = record.tokenExpirationDate, due < expirationDate {
            let interval = max(record.reminderInterval ?? ExternalPurchase.reminderInterval, 1)
            record.nextNoticeDate = min(due + interval, expirationDate)
            put(record)
            notifyExternalPurchase(.activeTokenReminder, record, now: now)
        } else {
            record.nextNoticeDate = nil
            put(record)
            if !record.isReported { notifyExternalPurchase(.unreported, record, now: now) }
        }
    }
}
