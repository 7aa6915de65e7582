import AppStore
import Foundation
import Messages
import PurchaseModel
import ServiceRuntime

/// What a receipt proves: an environment, and every purchase that stands in it.
struct ReceiptContent: Sendable {
    let environment: StoreEnvironment
    var transactions: [Transaction]
    /// When Apple signed it.
    var creationDate: Date?
    /// Ids, by bytes, of the transactions that Apple's servers told of since: they do not stand in its signed bytes.
    var added: Set<[UInt8]> = []
    /// What verifyReceipt says of coming renewals; a receipt itself says nothing of them.
    var renewals: [RenewalStatement] = []
    /// Whether it has purchases that could not be read; what is listed counts, and nothing follows from what is not.
    var mayHide = false

    /// The finding about it: the firewall's word, and the poster's claims.
    func finding(for submission: SubmissionMessage, of app: AppsFile.App) -> Finding {
        let verdict = EnvironmentFirewall.pass(
            transactions, proved: environment, policy: app.sandbox, expected: submission.expectedEnvironment)
        guard case .genuine(let passed) = verdict else { return Finding(verdict) }
        let named = submission.namedTransactionId
        var claims = Claims.of(passed, named: named, added: app.possession == .proof ? added : [])
        if mayHide, named == nil {
            // What cannot be read may be all there is, or another player's: one lineage is not known to be the only one.
            guard !passed.isEmpty else { return .unknown(.receiptEntryUnreadable, after: RetryTime.unreadable) }
            claims = []
        }
        return Finding(verdict, claims: claims, renewals: renewals, proofSignedDate: creationDate)
    }

    /// The same where Apple is not asked about a named transaction that it lacks: that may be one that could not be read.
    func findingUnasked(for submission: SubmissionMessage, of app: AppsFile.App) -> Finding {
        let finding = finding(for: submission, of: app)
        guard mayHide, lacksNamed(submission), !finding.isRejected else { return finding }
        return .unknown(.receiptEntryUnreadable, after: RetryTime.unreadable)
    }

    /// Takes in a transaction that only Apple's servers know of.
    mutating func add(_ transaction: Transaction) {
        transactions.append(transaction)
        added.insert(Array(transaction.transactionId.utf8))
    }

    /// Whether its certificates have expired, and Apple has not confirmed all that is in it.
    var isDoubtful: Bool { transactions.contains { !$0.isVouchedFor } }

    /// Takes what Apple says today of a transaction in place of what an expired certificate signed.
    mutating func confirm(_ transaction: Transaction) {
        let id = Array(transaction.transactionId.utf8)
        guard let place = transactions.firstIndex(where: { Array($0.transactionId.utf8) == id }) else { return }
        transactions[place] = transaction
    }

    /// Whether the app names a transaction that is not in it.
    func lacksNamed(_ submission: SubmissionMessage) -> Bool {
        submission.namedTransactionId.map { !Claims.holds(transactions, $0) } ?? false
    }
}

extension OfflineJudge {
    /// Attributes of a receipt that decide what is granted.
    private enum Attribute {
        /// The kind of product.
        static let productType: Int64 = 1_707
    }

    /// A receipt of an app, before the firewall; in doubt where its certificates had expired when it came.
    func receipt(
        _ proof: String, of app: AppsFile.App, _ submission: SubmissionMessage
    ) -> Result<ReceiptContent, Refusal> {
        switch receipts.receipt(Array(proof.utf8), app: app.identity) {
        case .failure(let rejection):
            return .failure(Refusal(verdict: Self.verdict(rejection)))
        case .success(let receipt):
            let isDoubtful = expired.areDoubtful(receipt.certificatesExpire, by: expired.receipts, submission)
            return Self.content(of: receipt, isDoubtful: isDoubtful)
        }
    }

    /// Why a receipt is none that Apple signed for this app; nil when it is one, or when it is Apple that has to say.
    ///
    /// A receipt of Apple's that cannot be read here, or under an algorithm that is not known here, is no forgery.
    func forgery(_ proof: String, of app: AppsFile.App) -> Refusal? {
        guard case .failure(let rejection) = receipts.receipt(Array(proof.utf8), app: app.identity) else { return nil }
        switch rejection.code {
        case .payloadTooLarge, .notAReceipt, .receiptXcode, .rootNotTrusted, .chainInvalid, .signerMissing,
            .signatureInvalid, .bundleMismatch:
            return Refusal(verdict: Self.rejected(rejection))
        default: return nil
        }
    }

    /// What a verified receipt says, unless something that decides what is granted cannot be read in it.
    static func content(of receipt: AppReceipt, isDoubtful: Bool = false) -> Result<ReceiptContent, Refusal> {
        guard let environment = StoreEnvironment(appleName: receipt.environment.rawValue) else {
            // The verifier lets none through; a new one would have to be thought about first.
            return .failure(Refusal(verdict: .rejected(.payloadInvalid, detail: "neither production nor sandbox")))
        }
        // All other fields that decide something are read strictly: a purchase in which they are unreadable is not listed.
        guard !receipt.purchases.contains(where: { $0.unreadableAttributes.contains(Attribute.productType) }) else {
            return .failure(
                Refusal(verdict: .unknown(.productTypeUnreadable, retryAfterSeconds: RetryTime.unreadable)))
        }
        return .success(
            ReceiptContent(
                environment: environment,
                transactions: distinct(receipt.purchases).map { Transaction($0, in: receipt).doubted(isDoubtful) },
                creationDate: receipt.creationDate, mayHide: receipt.unreadablePurchases > 0))
    }

    /// One purchase of each transaction id: an order has one, whatever a receipt repeats.
    ///
    /// Receipts have been seen with an id twice, once cancelled: the cancellation counts.
    private static func distinct(_ purchases: [AppReceipt.Purchase]) -> [AppReceipt.Purchase] {
        var places: [[UInt8]: Int] = [:]
        var distinct: [AppReceipt.Purchase] = []
        for purchase in purchases {
            let id = Array(purchase.transactionId.utf8)
            guard let place = places[id] else {
                places[id] = distinct.count
                distinct.append(purchase)
                continue
            }
            if distinct[place].cancellationDate == nil, purchase.cancellationDate != nil { distinct[place] = purchase }
        }
        return distinct
    }

    func judgeReceipt(_ submission: SubmissionMessage, proof: String, of app: AppsFile.App) -> OfflineJudgement {
        guard app.receipts != .verifyReceipt else { return .needsLookup(stands: nil) }
        switch receipt(proof, of: app, submission) {
        case .failure(let refusal):
            // A signature that is wrong stays wrong, whatever Apple's servers would say. What Apple signed, they may read.
            let isForApple = refusal.isUnknown && app.receipts == .offlineThenVerifyReceipt
            return isForApple ? .needsLookup(stands: nil) : .found(Finding(refusal.verdict))
        case .success(let content):
            let finding = content.findingUnasked(for: submission, of: app)
            guard !finding.isRejected else { return .found(finding) }
            // What the receipt lacks may have been bought since: nothing of the kind stands until Apple was asked.
            if app.serverAPI != nil, content.lacksNamed(submission) || content.isDoubtful {
                return .needsLookup(stands: nil, isDoubtful: content.isDoubtful)
            }
            return app.receipts == .offline ? .found(finding) : .needsLookup(stands: finding)
        }
    }
}
