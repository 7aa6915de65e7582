/// What a control call caused: the transactions and notifications that are new or changed since a mark.
struct LifecycleMark: Sendable {
    private let revision: Int64
    private let sequence: Int64

    /// Remembers where the store stands.
    init(_ state: StoreState) {
        revision = state.numbers[.revision] ?? 1
        sequence = state.numbers[.sequence] ?? 1
    }

    /// Ids of transactions that came about or changed since, in that order.
    func transactions(in state: StoreState) -> [String] {
        // Rows that the journal has yet to learn of are few; all rows may be millions.
        state.transactions.changed.compactMap { state.transactions[$0] }.filter { $0.revision >= revision }
            .sorted { $0.revision < $1.revision }.map(\.transactionId)
    }

    /// Notifications that were recorded since, in that order.
    func notifications(in state: StoreState) -> [NotificationRecord] {
        state.notifications.changed.compactMap { state.notifications[$0] }.filter { $0.sequence >= sequence }
            .sorted { $0.sequence < $1.sequence }
    }

    /// `{"subscription":{…},"transactions":[ids],"notifications":[{notificationType,subtype,…}]}`.
    ///
    /// - Parameter subscription: the one that the call was about; nil when it was about none.
    func answer(in state: StoreState, subscription: SubscriptionRecord?) -> JSONText {
        var json = JSONText()
        if let subscription { json.add("subscription", json: subscription.controlDescription(in: state).object) }
        json.add("transactions", transactions(in: state))
        let told = notifications(in: state).map { row in
            var json = JSONText()
            json.add("notificationType", row.notificationType)
            json.add("subtype", row.subtype)
            json.add("notificationUUID", row.notificationUUID)
            json.add("transactionId", row.transactionId)
            return json.object
        }
        json.add("notifications", json: "[\(told.joined(separator: ","))]")
        return json
    }
}

extension SubscriptionRecord {
    /// The subscription as the control API shows it: Apple's names where Apple has one; dates in milliseconds.
    func controlDescription(in state: StoreState) -> JSONText {
        var json = JSONText()
        json.add("originalTransactionId", originalTransactionId)
        json.add("status", status.rawValue)
        json.add("bundleId", bundleId)
        json.add("environment", environment.rawValue)
        json.add("account", accountId)
        json.add("subscriptionGroupIdentifier", subscriptionGroupIdentifier)
        json.add("productId", productId)
        json.add("autoRenewProductId", autoRenewProductId)
        json.add("autoRenewStatus", autoRenews ? 1 : 0)
        json.add("expirationIntent", expirationIntent?.rawValue)
        json.add("transactionId", transactionId)
        json.add("recentSubscriptionStartDate", recentSubscriptionStartDate)
        json.add("expiresDate", state.transactions[transactionId]?.expiresDate)
        json.add("renewalDate", renewalDate)
        json.add("gracePeriodExpiresDate", gracePeriodExpiresDate)
        json.add("billingRetryEndsDate", billingRetryEndsDate)
        json.add("dueDate", dueDate)
        json.add("renewalPrice", renewalPrice)
        json.add("currency", currency)
        if let priceIncrease {
            json.add("priceIncreaseStatus", priceIncrease.hasConsent ? 1 : 0)
            json.add("increasedPrice", priceIncrease.price)
            json.add("priceIncreaseDate", priceIncrease.effectiveDate)
        }
        json.add("paymentFails", paymentFails)
        json.add("isFamilyShared", isFamilyShared)
        json.add("familyCopies", familyCopies)
        json.add("eligibleWinBackOfferIds", eligibleWinBackOfferIds)
        return json
    }
}
