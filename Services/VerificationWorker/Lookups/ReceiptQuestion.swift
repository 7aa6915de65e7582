import AppStoreServerAPI
import Foundation
import PurchaseModel
import ServiceRuntime

/// What verifyReceipt says of a receipt.
struct ReceiptQuestion: LookupQuestion {
    /// Answers that are remembered: a receipt of years has hundreds of purchases.
    static let rememberedMaximum = 256
    /// Purchases of an answer that is: those of more are megabytes, with their receipt, and are asked about anew.
    static let rememberedPurchases = 1_000
    /// How long.
    static let rememberedFor = Duration.seconds(60)

    /// In base64; the text itself: whose purchases these are should not hang on a hash.
    let receipt: String

    func ask(_ apple: LookupCalls, for asker: Asker, patience: Duration) async -> LookupFinding<VerifyReceiptAnswer> {
        var environment = asker.order[0]
        let (client, receipt, secret) = (apple.verifyReceipt, receipt, asker.app.sharedSecret?.value)
        // Each host is asked once at most: a second change of host would be the first again.
        for isLast in [false, true] {
            let host = environment
            let outcome = await apple.pace.call(
                AppStoreHost(kind: .verifyReceipt, environment: host), app: asker.app.bundleId,
                priority: asker.priority, asker: asker.account, patience: patience
            ) { try await client.ask(receipt, sharedSecret: secret, in: host) }
            switch outcome {
            case .answer(let answer):
                guard !isLast, let other = answer.otherEnvironment else { return .found(answer) }
                environment = other
            case .later(let reason, let seconds): return .unknown(reason, after: seconds)
            case .refused(let error):
                apple.answers.attention.raise(
                    .appStoreRefused, app: asker.app.bundleId, "verifyReceipt refuses a request: \(error)")
                return .unknown(.appStoreRefused, after: RetryTime.attention)
            }
        }
        return .unknown(.appStoreUnavailable, after: RetryTime.appStoreTrouble)
    }

    static func isRemembered(_ answer: VerifyReceiptAnswer) -> Bool {
        answer.status.isValid && answer.purchases.count <= rememberedPurchases
    }
}

extension ReceiptContent {
    /// What an answer of verifyReceipt says of an app's receipt, or what is said of it.
    ///
    /// - Parameter attempt: how often it was asked, this time included.
    static func read(
        _ answer: VerifyReceiptAnswer, of app: AppsFile.App, attempt: Int, attention: AttentionLog
    ) -> Result<ReceiptContent, OfflineJudge.Refusal> {
        switch answer.finding(attempt: attempt) {
        case .valid: return content(answer, of: app, attention)
        case .rejected(let reason):
            return .failure(
                .init(
                    verdict: .rejected(
                        ReasonCode(rawValue: reason.rawValue), detail: "verifyReceipt: status \(answer.status)")))
        case .unknown(let word, let needsAttention):
            let reason = ReasonCode(rawValue: word.rawValue)
            guard needsAttention else {
                return .failure(.init(verdict: .unknown(reason, retryAfterSeconds: RetryTime.verifyReceipt)))
            }
            attention.raise(reason, app: app.bundleId, "verifyReceipt answers with status \(answer.status)")
            return .failure(.init(verdict: .unknown(reason, retryAfterSeconds: RetryTime.attention)))
        }
    }

    /// Most that can be bought at once, as for receipts that are read here.
    private static let quantities = 1...1_000_000

    /// The purchases of a valid answer, if they are the app's.
    private static func content(
        _ answer: VerifyReceiptAnswer, of app: AppsFile.App, _ attention: AttentionLog
    ) -> Result<ReceiptContent, OfflineJudge.Refusal> {
        guard let bundleId = answer.receipt?.bundleId,
            let environment = StoreEnvironment(appleName: answer.environment.rawValue)
        else {
            attention.raise(.answerMismatch, app: app.bundleId, "verifyReceipt does not say whose receipt it is")
            return .failure(.init(verdict: ServerAnswers.mismatch))
        }
        guard bundleId.utf8.elementsEqual(app.bundleId.utf8) else {
            return .failure(.init(verdict: .rejected(.bundleMismatch, detail: "the receipt is another app's")))
        }
        guard answer.purchases.allSatisfy({ quantities.contains($0.quantity) }) else {
            return .failure(.init(verdict: .unknown(.receiptEntryUnreadable, retryAfterSeconds: RetryTime.unreadable)))
        }
        let stated = answer.receipt?.requestDate ?? Date()
        return .success(
            ReceiptContent(
                environment: environment,
                transactions: answer.purchases.map {
                    Transaction($0, bundleId: bundleId, environment: answer.environment, stated: stated)
                },
                // That of a single transaction has no date, and was made with it.
                creationDate: answer.receipt?.creationDate
                    ?? answer.purchases.filter(\.isInReceipt).map(\.purchaseDate).max(),
                added: Set(answer.purchases.filter { !$0.isInReceipt }.map { Array($0.transactionId.utf8) }),
                renewals: answer.pendingRenewals.compactMap {
                    RenewalStatement($0, among: answer.purchases, environment: environment, stated: stated)
                }, mayHide: answer.unreadablePurchases > 0))
    }
}
