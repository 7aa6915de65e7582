import HTTPTypes

extension StoreState {
    /// Somebody leaves the family: what was shared with him is revoked, and what he shared with the others.
    ///
    /// - Parameter scope: which transactions of a copy that has several carry the revocation; REVOKE names the first.
    /// - Throws: a ``Problem`` when there is no such account, or it has no family.
    mutating func leaveFamily(
        _ accountId: String, scope: RevocationScope = .namedTransaction, now: Int64
    ) throws {
        var account = try accounts.required(accountId, "account")
        guard account.family != nil else { throw Problem(.conflict, "the account \(accountId) has no family") }
        for transaction in held(by: accountId) where transaction.isFamilyShared {
            endShare(transaction, scope: scope, now: now)
        }
        for member in family(of: accountId) {
            for transaction in held(by: member.id) where buyer(of: transaction) == accountId {
                endShare(transaction, scope: scope, now: now)
            }
        }
        account.family = nil
        put(account)
    }

    /// Somebody came into a family: gets what the others share, and shares what he has with them.
    mutating func joinFamily(_ accountId: String, now: Int64) {
        guard let account = accounts[accountId] else { return }
        for member in family(of: accountId).prefix(FamilyLimit.others) {
            giveEverything(of: member, to: account, now: now)
            giveEverything(of: account, to: member, now: now)
        }
    }

    /// A guardian takes back the consent to a child's use of an app: RESCIND_CONSENT.
    ///
    /// - Throws: a ``Problem`` when the account never had the app, or the consent is taken back already.
    mutating func rescindConsent(
        accountId: String, bundleId: String, environment: StoreEnvironment, now: Int64
    ) throws {
        guard var download = downloads[DownloadRecord.key(bundleId, accountId, environment)] else {
            throw Problem(
                .notFound, "the account \(accountId) has not downloaded \(bundleId) in \(environment.rawValue)")
        }
        guard !download.consentRescinded else {
            throw Problem(.conflict, "the consent for \(accountId) was taken back already")
        }
        download.consentRescinded = true
        put(download)
        notifyAppData(.rescindConsent, download, now: now)
    }

    private func buyer(of copy: TransactionRecord) -> String? {
        copy.sharedFromTransactionId.flatMap { transactions[$0]?.accountId }
    }

    /// The first transaction of each purchase that an account has, in every app and environment, oldest first within
    /// an app.
    private func held(by accountId: String) -> [TransactionRecord] {
        apps.rows.keys.sorted().flatMap { bundleId in
            StoreEnvironment.allCases.flatMap { environment in
                holdings[DownloadRecord.key(bundleId, accountId, environment), default: []]
                    .compactMap { transactions[$0] }.filter { $0.firstTransactionId == nil }
            }
        }
    }

    private mutating func giveEverything(of owner: AccountRecord, to member: AccountRecord, now: Int64) {
        for transaction in held(by: owner.id) where isShared(transaction) {
            guard !isRevoked(purchase: transaction.transactionId) else { continue }
            let purchaseDate = now / 1_000 * 1_000
            guard transaction.type == .autoRenewableSubscription else {
                give(transaction, to: member, purchaseDate: purchaseDate, now: now)
                continue
            }
            guard let record = subscriptions[transaction.originalTransactionId], record.isRunning,
                record.transactionId == transaction.transactionId
            else { continue }
            let copy = give(transaction, to: member, purchaseDate: purchaseDate, now: now)
            notify(.subscribed, .initialBuy, transactionId: copy, now: now)
        }
    }

    /// Takes a share away for good: of a subscription the period that runs, of anything else the copy.
    ///
    /// - Parameter copy: the transaction that REVOKE names, any that the copy has.
    mutating func endShare(_ copy: TransactionRecord, scope: RevocationScope, now: Int64) {
        guard var first = transactions[copy.purchaseId] else { return }
        first.sharingEndedDate = now
        guard copy.type == .autoRenewableSubscription else {
            put(first, now: now)
            return revokeCopy(copy.transactionId, reason: 0, scope: scope, now: now)
        }
        guard let share = subscriptions[copy.originalTransactionId], share.transactionId == copy.purchaseId else {
            return
        }
        put(first, now: now)
        revokeShare(share.id, naming: copy.transactionId, reason: 0, scope: scope, now: now)
        guard let origin = copy.sharedFromTransactionId.flatMap({ transactions[$0]?.originalTransactionId }),
            var buyers = subscriptions[origin]
        else { return }
        buyers.familyCopies.removeAll { $0 == share.id }
        put(buyers)
    }

    /// Revokes a family member's subscription: REVOKE, when it was not over.
    ///
    /// - Parameter transactionId: which transaction of the period REVOKE names; nil for the first.
    mutating func revokeShare(
        _ id: String, naming transactionId: String? = nil, reason: Int64, scope: RevocationScope = .namedTransaction,
        now: Int64
    ) {
        guard var share = subscriptions[id], !share.isOver else { return }
        share.status = .revoked
        share.autoRenews = false
        put(share)
        revokeCopy(transactionId ?? share.transactionId, reason: reason, scope: scope, now: now)
    }

    /// Revokes a family member's copy: REVOKE.
    ///
    /// - Parameter reason: 0, or the one of the buyer's refund (Apple: revocationReason).
    mutating func revokeCopy(_ id: String, reason: Int64, scope: RevocationScope, now: Int64) {
        guard transactions[id] != nil, !isRevoked(purchase: id) else { return }
        for id in revocable(id, scope) {
            guard var row = transactions[id] else { continue }
            row.revocationDate = now / 1_000 * 1_000
            row.revocationReason = reason
            row.revocationType = .familyRevoke
            put(row, now: now)
        }
        notify(.revoke, transactionId: id, now: now)
    }
}
