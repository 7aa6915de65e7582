import AppStore
import AppStoreServerAPI
import Foundation
import PurchaseModel

extension RenewalStatement {
    /// Apple's words in ours; the verified payload goes along as evidence.
    ///
    /// - Parameter environment: of the notification or host that it came with, with which it agrees.
    init(_ signed: SignedRenewalInfo, environment: StoreEnvironment) {
        self.init(
            environment: environment, originalTransactionId: signed.originalTransactionId,
            productId: signed.productId, signedDate: signed.signedDate)
        renewalProductId = signed.autoRenewProductId
        willRenew = signed.autoRenewStatus.flatMap(Self.isOn)
        unknownRenewStatus =
            [signed.autoRenewStatus, signed.commitmentInfo?.commitmentAutoRenewStatus]
            .compactMap(\.self).first { Self.isOn($0) == nil }?.rawValue
        expirationIntent = signed.expirationIntent.map { Int($0.rawValue) }
        isInBillingRetry = signed.isInBillingRetryPeriod
        priceIncreaseStatus = signed.priceIncreaseStatus.map { Int($0.rawValue) }
        gracePeriodExpiresDate = signed.gracePeriodExpiresDate
        offerType = signed.offerType.map { Int($0.rawValue) }
        offerIdentifier = signed.offerIdentifier
        recentSubscriptionStartDate = signed.recentSubscriptionStartDate
        renewalDate = signed.renewalDate
        renewalPriceMilliunits = signed.renewalPrice
        currency = signed.currency
        renewalBillingPlan = signed.renewalBillingPlanType?.rawValue
        commitment = signed.commitmentInfo.map { info in
            Commitment(
                willRenew: info.commitmentAutoRenewStatus.flatMap(Self.isOn),
                productId: info.commitmentAutoRenewProductId, renewalDate: info.commitmentRenewalDate,
                priceMilliunits: info.commitmentRenewalPrice,
                billingPlan: info.commitmentRenewalBillingPlanType?.rawValue)
        }
        appAccountToken = signed.appAccountToken
        unknownFields = signed.unknownFields.isEmpty ? nil : signed.unknownFields.map { "renewalInfo.\($0)" }
        evidence = String(decoding: signed.payload, as: UTF8.self)
    }

    /// A number of tomorrow says neither.
    private static func isOn(_ status: SignedRenewalInfo.AutoRenewStatus) -> Bool? {
        switch status {
        case .on: true
        case .off: false
        default: nil
        }
    }

    /// A subscription's next renewal as verifyReceipt states it; nil where no product is known.
    ///
    /// - Parameters:
    ///   - purchases: those of the same answer; the latest of the lineage says the product when the renewal does not.
    ///   - environment: of the host that answered.
    ///   - stated: when Apple said so: unlike signed renewal info, it has no date of its own.
    init?(
        _ pending: VerifyReceiptAnswer.PendingRenewal, among purchases: [VerifyReceiptAnswer.Purchase],
        environment: StoreEnvironment, stated: Date
    ) {
        let lineage = purchases.filter {
            $0.originalTransactionId.utf8.elementsEqual(pending.originalTransactionId.utf8)
        }
        let latest = lineage.max { $0.purchaseDate < $1.purchaseDate }
        guard let productId = pending.productId ?? latest?.productId ?? pending.autoRenewProductId else { return nil }
        self.init(
            environment: environment, originalTransactionId: pending.originalTransactionId, productId: productId,
            signedDate: stated)
        renewalProductId = pending.autoRenewProductId
        willRenew = pending.willAutoRenew
        expirationIntent = pending.expirationIntent.flatMap { Int($0) }
        isInBillingRetry = pending.isInBillingRetryPeriod
        priceIncreaseStatus = pending.priceIncreaseStatus.flatMap { Int($0) }
        gracePeriodExpiresDate = pending.gracePeriodExpiresDate
        evidence = Self.evidence(of: pending, environment: environment)
    }

    /// What can be shown later of an answer that nobody signed.
    private struct Evidence: Encodable {
        let source = "verifyReceipt"
        let environment: StoreEnvironment
        let originalTransactionId: String
        let autoRenewProductId: String?
        let autoRenewStatus: Bool?

        enum CodingKeys: String, CodingKey {
            case source, environment
            case originalTransactionId = "original_transaction_id"
            case autoRenewProductId = "auto_renew_product_id"
            case autoRenewStatus = "auto_renew_status"
        }
    }

    private static func evidence(
        of pending: VerifyReceiptAnswer.PendingRenewal, environment: StoreEnvironment
    ) -> String? {
        let evidence = Evidence(
            environment: environment, originalTransactionId: pending.originalTransactionId,
            autoRenewProductId: pending.autoRenewProductId, autoRenewStatus: pending.willAutoRenew)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        return (try? encoder.encode(evidence)).map { String(decoding: $0, as: UTF8.self) }
    }
}
