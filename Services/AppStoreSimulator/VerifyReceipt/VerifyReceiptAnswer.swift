import Foundation

/// The body of an answer about a valid receipt (Apple's page responseBody, verifyReceipt).
struct VerifyReceiptAnswer {
    /// 0, or 21006.
    var status: Int64
    /// When it was asked, milliseconds since 1970.
    var requestDate: Int64
    /// What the receipt says that was sent.
    var receipt: ReceiptContents
    /// The store's records of what stands in it, by transaction id.
    var known: [String: TransactionRecord]
    /// What the store has now; nil for a receipt without auto-renewable subscriptions, which hears of that only.
    var latest: Latest?

    struct Latest {
        var holdings: ReceiptHoldings
        /// A receipt that says so, in DER.
        var receipt: [UInt8]
        /// Of each subscription only its last transaction.
        var excludesOldTransactions: Bool
    }

    /// JSON, the fields in Apple's order.
    func encoded() -> String {
        var inner = JSONText()
        append(receipt, to: &inner)
        var json = JSONText()
        json.add("environment", receipt.environment.rawValue)
        json.add("receipt", json: inner.object)
        if let latest { append(latest, to: &json) }
        json.add("status", status)
        return json.object
    }

    private func append(_ receipt: ReceiptContents, to json: inout JSONText) {
        json.add("receipt_type", ReceiptContents.receiptType(receipt.environment))
        json.add("adam_id", receipt.appItemId)
        json.add("app_item_id", receipt.appItemId)
        json.add("bundle_id", receipt.bundleId)
        json.add("application_version", receipt.applicationVersion)
        json.add("download_id", receipt.downloadId)
        json.add("version_external_identifier", receipt.versionExternalIdentifier)
        json.add("receipt_creation_date", date: receipt.creationDate)
        json.add("request_date", date: requestDate)
        json.add("original_purchase_date", date: receipt.originalPurchaseDate)
        json.add("original_application_version", receipt.originalApplicationVersion)
        json.add("in_app", receipt.inAppPurchases) { append($1, known[$1.transactionId], isLatest: false, to: &$0) }
    }

    private func append(_ latest: Latest, to json: inout JSONText) {
        var transactions = latest.holdings.transactions.sorted(by: Self.isNewer)
        if latest.excludesOldTransactions {
            var seen: Set<String> = []
            transactions.removeAll {
                $0.type == .autoRenewableSubscription && !seen.insert($0.originalTransactionId).inserted
            }
        }
        json.add("latest_receipt_info", transactions) {
            append(ReceiptContents.InAppPurchase($1), $1, isLatest: true, to: &$0)
        }
        json.add("latest_receipt", Data(latest.receipt).base64EncodedString())
        let subscriptions = latest.holdings.subscriptions.values.sorted { $0.id > $1.id }
        json.add("pending_renewal_info", subscriptions) { Self.append($1, to: &$0) }
    }

    /// Transaction ids are counted up, and have equal lengths or the longer is the later.
    private static func isNewer(_ left: TransactionRecord, _ right: TransactionRecord) -> Bool {
        (left.purchaseDate, left.id.utf8.count, left.id) > (right.purchaseDate, right.id.utf8.count, right.id)
    }

    /// - Parameters:
    ///   - record: what the store knows of it: some fields are no part of a receipt.
    ///   - isLatest: whether it stands in `latest_receipt_info`, where Apple says more.
    private func append(
        _ purchase: ReceiptContents.InAppPurchase, _ record: TransactionRecord?, isLatest: Bool,
        to json: inout JSONText
    ) {
        json.add("quantity", text: purchase.quantity)
        json.add("product_id", purchase.productId)
        json.add("transaction_id", purchase.transactionId)
        json.add("original_transaction_id", purchase.originalTransactionId)
        json.add("purchase_date", date: purchase.purchaseDate)
        json.add("original_purchase_date", date: purchase.originalPurchaseDate)
        json.add("expires_date", date: purchase.expiresDate)
        if purchase.kind == .autoRenewableSubscription {
            json.add("web_order_line_item_id", text: purchase.webOrderLineItemId)
        }
        json.add("is_trial_period", text: purchase.isTrialPeriod)
        if purchase.kind == .autoRenewableSubscription {
            json.add("is_in_intro_offer_period", text: purchase.isInIntroOfferPeriod)
        }
        json.add("cancellation_date", date: purchase.cancellationDate)
        if purchase.cancellationDate != nil { json.add("cancellation_reason", text: record?.revocationReason ?? 0) }
        json.add("promotional_offer_id", purchase.promotionalOfferId)
        json.add("in_app_ownership_type", record?.isFamilyShared == true ? "FAMILY_SHARED" : "PURCHASED")
        guard isLatest, let record else { return }
        json.add("subscription_group_identifier", record.subscriptionGroupIdentifier)
        if record.isUpgraded { json.add("is_upgraded", text: true) }
        if record.offer?.kind == .code { json.add("offer_code_ref_name", record.offer?.identifier) }
        json.add("app_account_token", record.appAccountToken)
    }

    /// Apple's page responseBody.Pending_renewal_info.
    private static func append(_ subscription: SubscriptionRecord, to json: inout JSONText) {
        json.add("auto_renew_product_id", subscription.autoRenewProductId)
        json.add("product_id", subscription.productId)
        json.add("original_transaction_id", subscription.originalTransactionId)
        json.add("auto_renew_status", text: subscription.autoRenews ? 1 : 0)
        switch subscription.status {
        case .billingRetry, .gracePeriod: json.add("is_in_billing_retry_period", text: 1)
        case .expired: json.add("is_in_billing_retry_period", text: 0)
        case .active, .revoked: break
        }
        if subscription.status != .active, let intent = subscription.expirationIntent {
            json.add("expiration_intent", text: intent.rawValue)
        }
        json.add("grace_period_expires_date", date: subscription.gracePeriodExpiresDate)
        if let increase = subscription.priceIncrease {
            if increase.needsConsent { json.add("price_consent_status", text: increase.hasConsent ? 1 : 0) }
            json.add("price_increase_status", text: increase.hasConsent || !increase.needsConsent ? 1 : 0)
        }
        switch subscription.nextOffer?.kind {
        case .code: json.add("offer_code_ref_name", subscription.nextOffer?.identifier)
        case .promotional: json.add("promotional_offer_id", subscription.nextOffer?.identifier)
        default: break
        }
    }
}
