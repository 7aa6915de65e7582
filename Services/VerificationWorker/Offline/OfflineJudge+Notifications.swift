import AppStore
import Messages
import PurchaseModel
import ServiceRuntime

/// What a server notification proves: an environment, and what Apple signed inside it.
private struct NotificationContent {
    var transactions: [Transaction] = []
    var renewals: [RenewalStatement] = []
    var rescindedConsents: [RescindedConsent] = []
}

extension OfflineJudge {
    /// What becomes of a notification that Apple posted.
    ///
    /// Nobody claims what is in it: whose it is, its tokens and its lineage say.
    func notification(_ jws: String, of app: AppsFile.App, _ submission: SubmissionMessage) -> Finding {
        switch signedData.notification(Array(jws.utf8), app: app.identity) {
        case .failure(let rejection) where rejection.code == .appAppleIdMismatch:
            // Apple signed it about the app's bundle id, of which there is one: it is our settings that have another
            // number, and the next look may find them mended.
            return .unknown(ReasonCode(rawValue: rejection.code.rawValue), after: RetryTime.attention)
        case .failure(let rejection) where Self.notificationMayBeReadLater.contains(rejection.code):
            return .unknown(ReasonCode(rawValue: rejection.code.rawValue), after: RetryTime.unreadable)
        case .failure(let rejection): return Finding(Self.rejected(rejection))
        case .success(let signed): return finding(signed, of: app, submission)
        }
    }

    /// Refusals of what Apple signed and a newer version may read, also of what does not fit together: nobody posts a
    /// notification again, as an app does.
    static let notificationMayBeReadLater = mayBeReadLater.union([
        .bundleIdMissing, .notificationContent, .nestedInTest, .nestedEnvironmentMismatch, .renewalInfoMismatch,
    ])

    private func finding(
        _ signed: SignedNotification, of app: AppsFile.App, _ submission: SubmissionMessage
    ) -> Finding {
        let kind = VerdictMessage.NotificationKind(signed)
        guard let environment = StoreEnvironment(appleName: signed.environment.rawValue) else {
            // The verifier lets none through; a new one would have to be thought about first.
            return Finding(.rejected(.payloadInvalid, detail: "neither production nor sandbox"), notification: kind)
        }
        switch Self.content(of: signed, in: environment) {
        case .failure(let refusal):
            return Finding(refusal.verdict, notification: kind)
        case .success(var content):
            // Apple sends again for days, not years: beside the transaction, which may be asked about, nothing is believed.
            if expired.areDoubtful(signed.certificatesExpire, by: expired.signedData, submission) {
                content = NotificationContent(transactions: content.transactions.map { $0.doubted(true) })
            }
            let verdict = EnvironmentFirewall.pass(
                content.transactions, proved: environment, policy: app.sandbox,
                expected: submission.expectedEnvironment)
            guard case .genuine = verdict else { return Finding(verdict, notification: kind) }
            return Finding(
                verdict, claims: [], renewals: content.renewals, rescindedConsents: content.rescindedConsents,
                notification: kind)
        }
    }

    /// What stands in a notification, unless something that decides whose it is cannot be read.
    ///
    /// What Apple signed of a transaction and of its renewal says all by itself, whatever the notification's type: a
    /// purchase that a type of tomorrow brings is no less paid for.
    private static func content(
        of signed: SignedNotification, in environment: StoreEnvironment
    ) -> Result<NotificationContent, Refusal> {
        var content = NotificationContent()
        switch signed.content {
        case .summary, .externalPurchaseToken: break
        case .data(let data):
            if let transaction = data.transaction {
                switch Self.transaction(transaction) {
                case .failure(let refusal): return .failure(refusal)
                case .success(let transaction): content.transactions = [transaction]
                }
            }
            if let renewalInfo = data.renewalInfo {
                guard !renewalInfo.unreadableFields.contains("appAccountToken") else {
                    return .failure(
                        Refusal(verdict: .unknown(.accountTokenUnreadable, retryAfterSeconds: RetryTime.unreadable)))
                }
                content.renewals = [RenewalStatement(renewalInfo, environment: environment)]
            }
        case .appData(let data):
            guard signed.notificationType == .rescindConsent else { break }
            guard let id = data.appTransaction?.appTransactionId else {
                // A guardian withdrew consent, and nobody can read whose: somebody must look.
                return .failure(Refusal(verdict: .unknown(.consentUnreadable, retryAfterSeconds: RetryTime.unreadable)))
            }
            content.rescindedConsents = [
                RescindedConsent(
                    environment: environment, bundleId: signed.bundleId, appTransactionId: id,
                    signedDate: signed.signedDate)
            ]
        }
        return .success(content)
    }
}

extension VerdictMessage.NotificationKind {
    init(_ signed: SignedNotification) {
        self.init(
            type: signed.notificationType.rawValue, subtype: signed.subtype?.rawValue, uuid: signed.notificationUUID,
            environment: StoreEnvironment(appleName: signed.environment.rawValue), signedDate: signed.signedDate)
        var names = signed.unknownFields.map { "notification.\($0)" }
        switch signed.content {
        case .data(let data):
            consumptionRequestReason = data.consumptionRequestReason?.rawValue
            status = data.status?.rawValue
        case .appData(let data):
            storeType = data.appTransaction?.storeType
            names += data.appTransaction?.unknownFields.map { "appTransaction.\($0)" } ?? []
        case .summary, .externalPurchaseToken: break
        }
        unknownFields = names.isEmpty ? nil : names
    }
}

extension SignedNotification.NotificationType {
    /// The 23 types that Apple documents, and the second name of one of them (apple-facts C8).
    static let known: Set<SignedNotification.NotificationType> = [
        .subscribed, .didChangeRenewalPref, .didChangeRenewalStatus, .offerRedeemed, .didRenew, .expired,
        .didFailToRenew, .gracePeriodExpired, .priceIncrease, .refund, .refundDeclined, .refundReversed,
        .consumptionRequest, .renewalExtended, .renewalExtension, .revoke, .oneTimeCharge, .externalPurchaseToken,
        .rescindConsent, .metadataUpdate, .migration, .migrate, .priceChange, .test,
    ]
}
