import AppStoreServerAPI
import Foundation
import Pacing
import PurchaseModel
import ServiceRuntime

/// Asks verifyReceipt about receipts: each receipt once at a time, at a pace.
final class ReceiptLookups: Sendable {
    enum Limit {
        /// Answers that are remembered: a receipt of years has hundreds of purchases.
        static let remembered = 256
        /// Purchases of an answer that is: those of more are megabytes, with their receipt, and are asked about anew.
        static let rememberedPurchases = 1_000
        /// How long.
        static let rememberedFor = Duration.seconds(60)
    }

    /// What became known of a receipt.
    enum Finding: Sendable {
        /// Apple vouches for it.
        case found(ReceiptContent)
        /// It does not, or nothing is known.
        case stated(Verdict)
    }

    /// How a receipt is asked about.
    struct Question: Sendable {
        let app: AppsFile.App
        /// In base64.
        let receipt: String
        let first: AppStoreEnvironment
        let priority: Priority
        /// The account that it is asked for: Apple\'s budget is shared among them.
        let asker: String
        /// How often the submission was sent before.
        let attempt: Int
    }

    private struct Key: Hashable {
        let app: String
        /// The text itself: whose purchases these are should not hang on a hash.
        let receipt: String
    }

    private enum Reply: Sendable {
        case answer(VerifyReceiptAnswer)
        case stated(Verdict)
    }

    private let client: VerifyReceiptClient
    private let pace: AppStorePace
    let attention: AttentionLog
    private let patience: Duration
    private let flights: SingleFlight<Key, Reply>

    /// - Parameters:
    ///   - patience: how long a call may wait for room.
    ///   - flightsMaximum: receipts that are asked about at a time.
    init(
        client: VerifyReceiptClient, pace: AppStorePace, attention: AttentionLog, patience: Duration,
        flightsMaximum: Int
    ) {
        self.client = client
        self.pace = pace
        self.attention = attention
        self.patience = patience
        flights = SingleFlight(
            limits: .init(
                flightsMaximum: flightsMaximum, rememberedMaximum: Limit.remembered,
                rememberedFor: Limit.rememberedFor, keepsEveryValue: true)
        ) { reply in
            guard case .answer(let answer) = reply else { return false }
            return answer.status.isValid && answer.purchases.count <= Limit.rememberedPurchases
        }
    }

    /// How many receipts are being asked about.
    var inFlight: Int { flights.flights }

    /// What Apple says of a receipt, as far as it answers within the time; a valid answer is remembered.
    func find(_ question: Question, within time: Duration) async -> Finding {
        let key = Key(app: question.app.bundleId, receipt: question.receipt)
        let result = await flights.value(of: key, within: time) { await self.ask(question) }
        switch result {
        case .value(.answer(let answer)): return finding(answer, question)
        case .value(.stated(let verdict)): return .stated(verdict)
        case .late: return .stated(.unknown(.appStoreSlow, retryAfterSeconds: RetryTime.late))
        case .full: return .stated(.unknown(.rateLimited, retryAfterSeconds: RetryTime.rateLimited))
        }
    }

    /// Ends what flies.
    func close() async {
        await flights.cancelAll()
    }

    private func ask(_ question: Question) async -> Reply {
        var environment = question.first
        let secret = question.app.sharedSecret?.value
        let (client, receipt) = (client, question.receipt)
        // Each host is asked once at most: a second change of host would be the first again.
        for isLast in [false, true] {
            let host = environment
            let outcome = await pace.call(
                AppStoreHost(kind: .verifyReceipt, environment: host), app: question.app.bundleId,
                priority: question.priority, asker: question.asker, patience: patience
            ) { try await client.ask(receipt, sharedSecret: secret, in: host) }
            switch outcome {
            case .answer(let answer):
                guard !isLast, let other = answer.otherEnvironment else { return .answer(answer) }
                environment = other
            case .unavailable(let seconds):
                return .stated(.unknown(.appStoreUnavailable, retryAfterSeconds: seconds))
            case .rateLimited(let seconds):
                return .stated(.unknown(.rateLimited, retryAfterSeconds: seconds))
            case .refused(let error):
                let app = question.app.bundleId
                attention.raise(.appStoreRefused, app: app, "verifyReceipt refuses a request: \(error)")
                return .stated(.unknown(.appStoreRefused, retryAfterSeconds: RetryTime.attention))
            }
        }
        return .stated(.unknown(.appStoreUnavailable, retryAfterSeconds: RetryTime.appStoreTrouble))
    }

    private func finding(_ answer: VerifyReceiptAnswer, _ question: Question) -> Finding {
        switch answer.finding(attempt: question.attempt + 1) {
        case .valid: return content(answer, question)
        case .rejected(let reason):
            return .stated(
                .rejected(ReasonCode(rawValue: reason.rawValue), detail: "verifyReceipt: status \(answer.status)"))
        case .unknown(let word, let needsAttention):
            let reason = ReasonCode(rawValue: word.rawValue)
            guard needsAttention else {
                return .stated(.unknown(reason, retryAfterSeconds: RetryTime.verifyReceipt))
            }
            attention.raise(reason, app: question.app.bundleId, "verifyReceipt answers with status \(answer.status)")
            return .stated(.unknown(reason, retryAfterSeconds: RetryTime.attention))
        }
    }
}

extension ReceiptLookups {
    /// Most that can be bought at once, as for receipts that are read here.
    private static let quantities = 1...1_000_000

    /// The purchases of a valid answer, if they are the app's.
    private func content(_ answer: VerifyReceiptAnswer, _ question: Question) -> Finding {
        guard let bundleId = answer.receipt?.bundleId,
            let environment = StoreEnvironment(appleName: answer.environment.rawValue)
        else {
            attention.raise(
                .answerMismatch, app: question.app.bundleId, "verifyReceipt does not say whose receipt it is")
            return .stated(.unknown(.answerMismatch, retryAfterSeconds: RetryTime.attention))
        }
        guard bundleId.utf8.elementsEqual(question.app.bundleId.utf8) else {
            return .stated(.rejected(.bundleMismatch, detail: "the receipt is another app's"))
        }
        guard answer.purchases.allSatisfy({ Self.quantities.contains($0.quantity) }) else {
            return .stated(.unknown(.receiptEntryUnreadable, retryAfterSeconds: RetryTime.unreadable))
        }
        let stated = answer.receipt?.requestDate ?? Date()
        return .found(
            ReceiptContent(
                environment: environment,
                transactions: answer.purchases.map { purchase in
                    Transaction(
                        purchase, bundleId: bundleId, environment: answer.environment, stated: stated)
                },
                creationDate: Self.creationDate(of: answer),
                added: Set(answer.purchases.filter { !$0.isInReceipt }.map { Array($0.transactionId.utf8) }),
                renewals: answer.pendingRenewals.compactMap {
                    RenewalStatement($0, among: answer.purchases, environment: environment, stated: stated)
                }, mayHide: answer.unreadablePurchases > 0))
    }

    /// When the receipt was made; that of a single transaction has no date, and was made with it.
    private static func creationDate(of answer: VerifyReceiptAnswer) -> Date? {
        answer.receipt?.creationDate ?? answer.purchases.filter(\.isInReceipt).map(\.purchaseDate).max()
    }
}
