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
    }

    /// Gives and takes by hand; each call is another adjustment.
    ///
    /// A row in `audit_log`, a line for each item, and the event `iap.account.adjusted` are written in one transaction.
    ///
    /// - Parameters:
    ///   - environment: production or sandbox.
    ///   - app: the app's bundle id.
    ///   - account: the account.
    ///   - items: above zero to give, below zero to take; each at most `Limit.amount`, an item twice is summed up.
    ///   - actor: who.
    ///   - reason: why, in the operator's words.
    ///   - allowsDebt: whether a balance may go below zero, or further below it.
    ///   - eventLease: after which the event is published by whoever sees it due; at once unless said otherwise.
    ///   - pool: the database.
    /// - Throws: `LedgerError` for amounts that nobody may ask for; `PostgresError`; then nothing was changed.
    package static func adjust(
        environment: StoreEnvironment, app: String, account: Account, items: [Catalogue.ItemGrant], actor: String,
        reason: String, allowsDebt: Bool = false, eventLease: Duration = .zero, pool: PostgresPool
    ) async throws -> Adjusted {
        let changes = try summed(items)
        guard changes.allSatisfy({ $0.amount != 0 }) else { throw LedgerError.amountOutOfRange }
        let customer = Customer(environment: environment, app: app, account: account)
        return try await pool.withTransaction { connection in
            try await adjust(
                changes, of: customer, actor: actor, reason: reason, allowsDebt: allowsDebt, eventLease: eventLease,
                on: connection)
        }
    }

    @inline(never)
    private static func adjust(
        _ changes: [Catalogue.ItemGrant], of customer: Customer, actor: String, reason: String,
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
        let auditId = try await AuditLog.write(
            "adjust", of: "\(customer.environment.rawValue) \(customer.app) \(customer.account.text)", actor: actor,
            reason: reason, on: connection
        ).id
        try await post(
            changes.enumerated().map { index, change in
                Entry(
                    cause: .adjustment(auditId), sequence: Int32(index + 1), customer: customer, item: change.item,
                    amount: change.amount)
            }, on: connection)
        _ = try await EventStore.write(
            [
                EventDraft(
                    type: PurchaseEvent.adjusted, environment: customer.environment, app: customer.app,
                    account: customer.account, correlationId: "adjustment_\(auditId)",
                    payload: PurchaseEvent.Payload(transaction: nil, entries: changes))
            ], lease: eventLease, on: connection)
        return .adjusted(auditId: auditId, balances: balances)
    }
}
