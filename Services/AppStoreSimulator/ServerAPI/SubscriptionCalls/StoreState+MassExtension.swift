extension StoreState {
    enum MassExtensionLimit {
        /// How long the store takes to get to a mass extension, virtual milliseconds; Apple says hours or days.
        static let delay: Int64 = 10 * 60_000
        /// Mass extensions that are kept, complete ones too.
        static let records = 10_000
    }

    /// Takes a mass extension on; one that was taken on before is left as it is, as Apple does.
    ///
    /// - Throws: 4000011 when the identifier stands for something else, 4000023 for a product that does not renew.
    mutating func request(
        _ request: MassExtensionRequest, app: AppRecord, environment: StoreEnvironment, now: Int64
    ) throws(APIError) {
        let id = request.fields.requestIdentifier
        if let known = massExtensions[id] {
            guard known.bundleId == app.bundleId, known.environment == environment,
                known.productId == request.productId
            else { throw .invalidRequestIdentifier }
            return
        }
        guard products[ProductRecord.key(app.bundleId, request.productId)]?.type == .autoRenewableSubscription else {
            throw .invalidProductId
        }
        guard massExtensions.count < MassExtensionLimit.records else { throw .generalInternal }
        put(
            MassExtensionRecord(
                requestIdentifier: id, bundleId: app.bundleId, environment: environment, productId: request.productId,
                extendByDays: request.fields.days, extendReasonCode: request.fields.reason,
                storefrontCountryCodes: request.storefrontCountryCodes, requestedDate: now,
                dueDate: now + MassExtensionLimit.delay, completeDate: nil, succeededCount: 0, failedCount: 0))
    }

    /// The store gets to a mass extension: extends every subscriber it can, tells of each, and sums up.
    mutating func massExtensionFallsDue(_ requestIdentifier: String, now: Int64) {
        guard var row = massExtensions[requestIdentifier], row.completeDate == nil else { return }
        for id in subscribers(of: row) {
            do {
                _ = try extendRenewal(
                    id, days: row.extendByDays, reason: row.extendReasonCode, requestIdentifier: requestIdentifier,
                    now: now)
                row.succeededCount += 1
            } catch {
                row.failedCount += 1
                if let latest = subscriptions[id]?.transactionId {
                    notify(.renewalExtension, .failure, transactionId: latest, now: now)
                }
            }
        }
        row.dueDate = nil
        row.completeDate = now
        put(row)
        notifySummary(row, now: now)
    }

    /// Whom a mass extension is for: who has the product now and has not lost it, whether or not it can be extended.
    ///
    /// Family members are extended with the buyer.
    private func subscribers(of row: MassExtensionRecord) -> [String] {
        let storefronts = Set(row.storefrontCountryCodes)
        return subscribers[ProductRecord.key(row.bundleId, row.productId), default: []].filter { id in
            guard let subscription = subscriptions[id], subscription.environment == row.environment,
                subscription.productId == row.productId, !subscription.isFamilyShared,
                [.active, .gracePeriod, .billingRetry].contains(subscription.status)
            else { return false }
            return storefronts.isEmpty
                || storefronts.contains(transactions[subscription.transactionId]?.storefront ?? "")
        }.sorted()
    }
}
