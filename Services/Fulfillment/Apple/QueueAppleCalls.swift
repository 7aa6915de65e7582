import Foundation
import Messages
import Persistence
import Postgres
import PurchaseModel

/// What Apple is to be told of a batch: written in the batch's own transaction, and called by the workers afterwards.
struct QueueAppleCalls: Sendable {
    /// After how long what was granted is finished: most apps do it themselves by then.
    static let finishDelayDefault = Duration.seconds(60)

    let apps: CurrentApps
    var finishDelay = Self.finishDelayDefault

    /// Queues what follows from grants, after they were written, and has refund requests about what has another owner now looked at
    /// again.
    ///
    /// - Throws: `PostgresError`.
    func queue(_ decided: Decided, on connection: PostgresConnection) async throws {
        let given = decided.transitions.filter { $0.before != nil && $0.before?.account != $0.account }.map(\.key)
        try await AppleCallStore.reconsider(Set(given + decided.moved.map(\.order.key)), on: connection)
        // What an older system granted it has finished, too; an import of years is no work for Apple's limits.
        let grants = decided.transitions.filter {
            $0.isGrant && !$0.isGrantedElsewhere && $0.transaction.isVouchedFor
        }
        try await AppleCallStore.queue(
            grants.filter { apps.finishes($0.transaction.bundleId) }.map { grant in
                AppleCallStore.NewCall(
                    kind: .finish, order: grant.key, transactionId: grant.transaction.transactionId,
                    app: grant.transaction.bundleId)
            }, delay: finishDelay, on: connection)
        try await setTokens(of: grants.filter { apps.setsTokens($0.transaction.bundleId) }, on: connection)
    }

    /// What was bought without a token, and is an account's now, gets a token of that account.
    ///
    /// Apple names it in renewals and refunds from then on (apple-facts C12). It is the lineage's token at once: so it moves
    /// nothing when it comes back, not even after the lineage has gone to another account.
    private func setTokens(of grants: [OrderTransition], on connection: PostgresConnection) async throws {
        // Of one lineage once, by its first period.
        var named: [LineageKey: (grant: OrderTransition, account: Account)] = [:]
        for grant in grants where grant.transaction.appAccountToken == nil && !grant.transaction.isFamilyCopy {
            guard let account = grant.account, !account.isPseudonym else { continue }
            if let known = named[grant.lineage], known.grant.transaction.purchaseDate <= grant.transaction.purchaseDate
            {
                continue
            }
            named[grant.lineage] = (grant, account)
        }
        guard !named.isEmpty else { return }
        let untold = try await LineageStore.withoutToken(Set(named.keys), on: connection)
        let chosen = named.filter { untold.contains($0.key) }.sorted { $0.key < $1.key }.map(\.value)
        let tokens = try await AccountTokenStore.tokens(
            of: chosen.map { (app: $0.grant.transaction.bundleId, account: $0.account) }, on: connection)
        let given = zip(chosen, tokens).map { entry, token in (grant: entry.grant, token: token) }
        try await LineageStore.note(
            given.map { given in
                LineageStore.SetToken(
                    lineage: given.grant.lineage, token: given.token,
                    purchaseDate: given.grant.transaction.purchaseDate,
                    signedDate: given.grant.transaction.signedDate)
            }, on: connection)
        try await AppleCallStore.queue(
            given.map { given in
                AppleCallStore.NewCall(
                    kind: .accountToken, order: given.grant.key,
                    transactionId: given.grant.transaction.originalTransactionId,
                    app: given.grant.transaction.bundleId, token: given.token)
            }, delay: .zero, on: connection)
    }
}
