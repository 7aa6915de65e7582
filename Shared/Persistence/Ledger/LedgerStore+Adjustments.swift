import Foundation
import Messages
package import Postgres
package import PurchaseModel

extension LedgerStore {
    /// What became of an operator's adjustment.
    package enum Adjusted: Sendable, Hashable {
        /// It is written, under this id in `audit_log`; how much the account has of each item now, sorted by item.
        case adjusted(auditId: Int64, balances: [Catalogue.ItemGrant])
        /// Nothing is written: the account would owe something.
        case insufficient([Shortage])
        /// Nothing is written: the account would hold, or owe, more of these than it can.
        case beyondLimit([String])
        /// Nothing is written: these entitlements are not in force by a person's word.
        case notByHand([String])
    }

    /// What an operator does with an account's entitlements.
    package struct Entitling: Sendable {
        /// What is given, or has another end from now on.
        package let given: [EntitlementStore.ByHand]
        /// What a person gave and is taken away.
        package let ended: [String]

        /// Makes one; each name once.
        package init(given: [EntitlementStore.ByHand] = [], ended: [String] = []) {
            self.given = given
            self.ended = ended
        }
    }

    /// Gives and takes by hand; each call is another adjustment.
    ///
    /// A row in `audit_log`, a line for each item, and the event `iap.account.adjusted` are written in one transaction; with
    /// entitlements also their rows, and `iap.entitlement.granted`. What is taken away ends by the clock, which tells of it.
    ///
    /// - Parameters:
    ///   - environment: production or sandbox.
    ///   - app: the app's bundle id.
    ///   - account: the account.
    ///   - items: above zero to give, below zero to take; each at most `Limit.amount`, an item twice is summed up.
    ///   - entitling: what else the account may use, and what no more.
    ///   - actor: who.
    ///   - reason: why, in the operator's words.
    ///   - allowsDebt: whether a balance may go below zero, or further below it.
    ///   - eventLease: after which the event is published by whoever sees it due; at once unless said otherwise.
    ///   - pool: the database.
    /// - Throws: `LedgerError` for amounts that nobody may ask for; `PostgresError`; then nothing was changed.
    package static func adjust(
        environment: StoreEnvironment, app: String, account: Account, items: [Catalogue.ItemGrant],
        entitling: Entitling = Entitling(), actor: String, reason: String, allowsDebt: Bool = false,
        eventLease: Duration = .zero, pool: PostgresPool
    ) async throws -> Adjusted {
        let isEntitling = !entitling.given.isEmpty || !entitling.ended.isEmpty
        let changes = items.isEmpty && isEntitling ? [] : try summed(items)
        guard changes.allSatisfy({ $0.amount != 0 }) else { throw LedgerError.amountOutOfRange }
        let customer = Customer(environment: environment, app: app, account: account)
        return try await pool.withTransaction { connection in
            try await adjust(
                changes, entitling, of: customer, actor: actor, reason: reason, allowsDebt: allowsDebt,
                eventLease: eventLease, on: connection)
        }
    }

    @inline(never)
    private static func adjust(
        _ changes: [Catalogue.ItemGrant], _ entitling: Entitling, of customer: Customer, actor: String, reason: String,
        allowsDebt: Bool, eventLease: Duration, on connection: PostgresConnection
    ) async throws -> Adjusted {
        let locked = try await lock(Set(changes.map { Holding(customer: customer, item: $0.item) }), on: connection)
        var shortages: [Shortage] = []
        var beyond: [String] = []
        var balances: [Catalogue.ItemGrant] = []
        for change in changes {
            let balance = locked[Holding(customer: customer, item: change.item), default: 0]
            let (after, overflow) = balance.addingReportingOverflow(change.amount)
            if !overflow, after < 0, change.amount < 0, !allowsDebt {
                shortages.append(Shortage(item: change.item, balance: balance, needed: -change.amount))
            }
            if overflow || after.magnitude > Limit.balance.magnitude && after.magnitude > balance.magnitude {
                beyond.append(change.item)
            }
            balances.append(Catalogue.ItemGrant(item: change.item, amount: after))
        }
        guard shortages.isEmpty else { return .insufficient(shortages) }
        guard beyond.isEmpty else { return .beyondLimit(beyond) }
        let missing = try await EntitlementStore.missing(entitling.ended, of: customer, on: connection)
        guard missing.isEmpty else { return .notByHand(missing) }
        let auditId = try await AuditLog.write(
            "adjust", of: "\(customer.environment.rawValue) \(customer.app) \(customer.account.text)",
            app: .named(customer.app), actor: actor, reason: reason, on: connection
        ).id
        try await post(
            changes.enumerated().map { index, change in
                Entry(
                    cause: .adjustment(auditId), sequence: Int32(index + 1), customer: customer, item: change.item,
                    amount: change.amount)
            }, on: connection)
        try await EntitlementStore.give(entitling.given, to: customer, auditId: auditId, on: connection)
        try await EntitlementStore.end(entitling.ended, of: customer, auditId: auditId, on: connection)
        _ = try await EventStore.write(
            drafts(changes, entitling.given.map(\.entitlement).sorted(), of: customer, auditId), lease: eventLease,
            on: connection)
        return .adjusted(auditId: auditId, balances: balances)
    }

    private static func drafts(
        _ changes: [Catalogue.ItemGrant], _ entitlements: [String], of customer: Customer, _ auditId: Int64
    ) -> [EventDraft] {
        func draft(_ type: String, _ payload: PurchaseEvent.Payload) -> EventDraft {
            EventDraft(
                type: type, environment: customer.environment, app: customer.app, account: customer.account,
                correlationId: "adjustment_\(auditId)", payload: payload)
        }
        var drafts: [EventDraft] = []
        if !changes.isEmpty { drafts.append(draft(PurchaseEvent.adjusted, .init(transaction: nil, entries: changes))) }
        if !entitlements.isEmpty {
            drafts.append(
                draft(PurchaseEvent.entitlementGranted, .init(transaction: nil, entitlements: entitlements)))
        }
        return drafts
    }
}
