import Foundation

extension StoreState {
    /// Records a server notification about a transaction; nothing when the app keeps none.
    ///
    /// - Parameters:
    ///   - transactionId: of a transaction that the store knows; for a subscription the renewal info and the status of its
    ///     lineage are told too.
    ///   - reason: Apple's `consumptionRequestReason`.
    mutating func notify(
        _ type: NotificationType, _ subtype: NotificationSubtype? = nil, transactionId: String, reason: String? = nil,
        now: Int64
    ) {
        guard let transaction = transactions[transactionId], let app = apps[transaction.bundleId],
            app.keepsNotifications, let signedTransaction = signed(transaction.payload(signedDate: now))
        else { return }
        let subscription =
            transaction.type == .autoRenewableSubscription ? subscriptions[transaction.originalTransactionId] : nil
        let data = app.notificationData(
            environment: transaction.environment, transaction: signedTransaction,
            renewalInfo: subscription.flatMap { signed($0.renewalInfo(in: self, signedDate: now)) },
            status: subscription?.status, consumptionRequestReason: reason)
        record(
            type, subtype, .data(data), app: app, environment: transaction.environment, transaction: transaction,
            now: now)
    }

    /// Tells how a mass extension ended: RENEWAL_EXTENSION with SUMMARY.
    mutating func notifySummary(_ massExtension: MassExtensionRecord, now: Int64) {
        guard let app = apps[massExtension.bundleId], app.keepsNotifications else { return }
        record(
            .renewalExtension, .summary, .summary(app.extensionSummary(massExtension)), app: app,
            environment: massExtension.environment, now: now)
    }

    /// Tells about an external purchase token.
    mutating func notifyExternalPurchase(_ subtype: NotificationSubtype, _ record: ExternalPurchaseRecord, now: Int64) {
        guard let app = apps[record.bundleId], app.keepsNotifications else { return }
        self.record(
            .externalPurchaseToken, subtype, .externalPurchaseToken(app.externalPurchaseToken(record)), app: app,
            environment: record.environment, now: now)
    }

    /// Tells about a download, with its app transaction: RESCIND_CONSENT.
    mutating func notifyAppData(_ type: NotificationType, _ download: DownloadRecord, now: Int64) {
        guard let app = apps[download.bundleId], app.keepsNotifications,
            let appTransaction = signed(download.appTransaction(app: app, device: nil, signedDate: now))
        else { return }
        let appData = app.appData(environment: download.environment, appTransaction: appTransaction)
        record(type, nil, .appData(appData), app: app, environment: download.environment, now: now)
    }

    /// Records a TEST, whether or not the app keeps notifications.
    ///
    /// - Returns: the token that ``testNotification(_:bundleId:environment:)`` finds it by.
    @discardableResult
    mutating func notifyTest(_ app: AppRecord, environment: StoreEnvironment, now: Int64) -> String {
        let id = UUID().uuidString.lowercased()
        let token = "\(id)_\(now)"
        let content = NotificationPayload.Content.data(app.testData(environment: environment))
        record(.test, nil, content, app: app, environment: environment, id: id, testToken: token, now: now)
        return token
    }

    /// The test notification that a token names, of this app and environment.
    func testNotification(
        _ token: String, bundleId: String, environment: StoreEnvironment
    ) -> NotificationRecord? {
        // The token begins with the notification's UUID.
        guard let id = token.split(separator: "_").first, let row = notifications[String(id)], row.testToken == token,
            row.bundleId == bundleId, row.environment == environment
        else { return nil }
        return row
    }

    /// Signs and keeps a notification; it is due at once when the app has somewhere to send it.
    private mutating func record(
        _ type: NotificationType, _ subtype: NotificationSubtype?, _ content: NotificationPayload.Content,
        app: AppRecord, environment: StoreEnvironment, transaction: TransactionRecord? = nil,
        id: String = UUID().uuidString.lowercased(), testToken: String? = nil, now: Int64
    ) {
        let payload = NotificationPayload(
            notificationType: type.rawValue, subtype: subtype?.rawValue, notificationUUID: id, content: content,
            signedDate: now)
        guard let signedPayload = signed(payload.text) else { return }
        let sequence = nextNumber(.sequence)
        put(
            NotificationRecord(
                notificationUUID: id, bundleId: app.bundleId, environment: environment,
                notificationType: type.rawValue, subtype: subtype?.rawValue, transactionId: transaction?.transactionId,
                originalTransactionId: transaction?.originalTransactionId, createdDate: now,
                signedPayload: signedPayload, testToken: testToken, attempts: [],
                nextAttemptDate: app.notificationURLs[environment] == nil ? nil : now, sequence: sequence))
        if sequence % NotificationSchedule.Limit.recordsBetweenCleanings == 0 { forgetOldNotifications(now: now) }
    }

    /// Signing with a key at hand does not fail; were it to, there would be nothing to tell.
    private func signed(_ payload: String) -> String? {
        try? signer.sign(payload)
    }
}
