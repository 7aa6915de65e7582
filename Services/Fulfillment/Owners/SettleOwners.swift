import Foundation
import Messages
import Persistence
import Postgres
import PurchaseModel

/// Keeps whose lineages are: loads what decides it, lets `LineageOwner` decide, and writes what follows.
///
/// The order is: ``lock(_:on:)`` before any order is locked, ``hear(_:in:tokens:by:on:)``, and, once the orders are
/// locked, ``move(_:held:on:)``.
struct SettleOwners: Sendable {
    /// What time it is: limits are counted, and entitlements are in force, by it.
    var now: @Sendable () -> Date = { Date() }

    /// Locks lineages, with the app of each.
    ///
    /// - Throws: `PostgresError`.
    func lock(_ lineages: [LineageKey: String], on connection: PostgresConnection) async throws -> OwnerBook {
        OwnerBook(try await LineageStore.lock(lineages, on: connection))
    }

    /// Takes in what is said of locked lineages, and writes whose they are now, and why.
    ///
    /// - Throws: `PostgresError`.
    func hear(
        _ words: [LineageKey: [LineageWord]], in locked: OwnerBook, tokens: [AppToken: String],
        by catalogue: Catalogue, on connection: PostgresConnection
    ) async throws -> OwnerBook {
        guard !words.isEmpty else { return locked }
        var book = locked
        let now = now()
        let contested = words.filter { key, words in
            book[key].map { isContested($0.lineage, words, tokens: tokens) } ?? false
        }
        let records = try await LineageClaimStore.records(
            of: Array(contested.keys), submissions: Set(contested.values.joined().compactMap(\.submissionId)), now: now,
            on: connection)
        for (key, words) in words {
            guard var owner = book[key] else { continue }
            owner.record = records[key] ?? owner.record
            for word in words where word.statements.allSatisfy({ $0.bundleId == owner.lineage.app }) {
                owner.hear(word, tokens: tokens, now: now) { transaction in
                    catalogue.product(app: transaction.bundleId, id: transaction.productId)?.restore ?? .keep
                }
                // The orders of the batch are not written yet; who claims the lineage next must reckon with them.
                let isInUse = word.statements.contains { statement in
                    owner.owner(of: statement).account != nil
                        && statement.isInUse(by: catalogue, at: now)
                }
                if isInUse { owner.record.isInUse = true }
            }
            book[key] = owner
        }
        try await write(book, on: connection)
        return book
    }

    /// Whether more must be known of a lineage than its row: several accounts may want it, or it was nobody's for long.
    private func isContested(
        _ lineage: LineageStore.Lineage, _ words: [LineageWord], tokens: [AppToken: String]
    ) -> Bool {
        let claimants = words.compactMap(\.claimant)
        guard !claimants.isEmpty else { return false }
        let named = words.flatMap(\.statements).compactMap { statement in
            statement.appAccountToken.flatMap { tokens[AppToken(app: statement.bundleId, token: $0)] }
        }
        return lineage.isKnown && lineage.account == nil
            || Set((claimants + named + [lineage.account].compactMap(\.self)).map { Array($0.utf8) }).count > 1
    }

    private func write(_ book: OwnerBook, on connection: PostgresConnection) async throws {
        let owners = book.lineages.values
        try await LineageStore.write(owners.filter { $0.lineage != $0.before }.map(\.lineage), on: connection)
        try await BindingHistoryStore.write(
            book.changes.map { owner, change in
                BindingHistoryStore.Binding(
                    lineage: owner.lineage.key, app: owner.lineage.app, change: change.binding,
                    submissionId: change.submissionId, auditId: change.auditId)
            }, on: connection)
        try await LineageClaimStore.note(owners.flatMap(\.claims), on: connection)
    }

    /// Moves what hangs on lineages that went to others, and lets sharers use theirs.
    ///
    /// - Parameter held: all orders of the lineages with a new owner, locked.
    /// - Returns: what is to be told, to those who had and to those who have.
    /// - Throws: `PostgresError`.
    func move(
        _ book: OwnerBook, held: [ParkedOrderStore.Held], on connection: PostgresConnection
    ) async throws -> [EventDraft] {
        var given: [(key: OrderKey, account: String)] = []
        for order in held {
            guard let owner = book[order.lineage], owner.mayTakeAlong, let account = owner.lineage.account,
                owner.takesAlong(order), !order.standing.account.isSameAccount(as: account)
            else { continue }
            given.append((order.key, account))
        }
        try await LineageMoveStore.give(given, on: connection)
        let owners = book.lineages.values
        try await LineageMoveStore.move(
            owners.compactMap { owner in
                guard owner.hasNewOwner, let from = owner.before.account, let account = owner.lineage.account else {
                    return nil
                }
                return LineageMoveStore.Move(lineage: owner.lineage.key, from: from, to: account)
            }, on: connection)
        try await LineageMoveStore.unshare(
            owners.flatMap { owner in
                owner.before.sharers.subtracting(owner.lineage.sharers).filter { $0 != owner.lineage.account }
                    .map { (lineage: owner.lineage.key, account: $0) }
            }, on: connection)
        try await LineageMoveStore.share(
            owners.flatMap { owner in
                owner.lineage.sharers.subtracting(owner.before.sharers).sorted().compactMap { sharer in
                    owner.lineage.account.map {
                        LineageMoveStore.Share(
                            lineage: owner.lineage.key, app: owner.lineage.app, owner: $0, account: sharer)
                    }
                }
            }, on: connection)
        return try await drafts(of: book, on: connection)
    }

    /// First bindings are told by what they grant.
    private func drafts(of book: OwnerBook, on connection: PostgresConnection) async throws -> [EventDraft] {
        let told = book.changes.filter { $0.change.binding.from != nil }
        let names = try await LineageMoveStore.entitlements(
            of: Set(told.map(\.owner.lineage.key)), at: now(), on: connection)
        return told.flatMap { owner, change in
            [change.binding.from, change.binding.to].compactMap(\.self).map { account in
                EventDraft(
                    type: change.binding.cause == .share ? PurchaseEvent.shared : PurchaseEvent.transferred,
                    environment: owner.lineage.key.environment, app: owner.lineage.app, account: account,
                    correlationId: change.correlationId,
                    payload: PurchaseEvent.Payload(
                        transaction: change.transaction, entitlements: names[owner.lineage.key] ?? [],
                        binding: change.binding))
            }
        }
    }
}

extension PurchasedTransaction {
    /// Whether it gives its owner something that is in force, whatever else is said of it.
    fileprivate func isInUse(by catalogue: Catalogue, at now: Date) -> Bool {
        let decision = OrderDecision.decide(
            self, owner: .account(""), product: catalogue.product(app: bundleId, id: productId))
        return !decision.entitlements.isEmpty && decision.entitledUntil.map { $0 > now } ?? true
    }
}
