import Foundation
import Messages
import PurchaseModel
import ServiceRuntime

/// What was found out about one submission: the verdict, which of its transactions are the poster's, and what else Apple
/// said beside them.
struct Finding: Sendable, Hashable {
    /// One of three values.
    let verdict: Verdict
    /// Which of them are the poster's.
    let claims: Claims
    /// What Apple said of coming renewals; empty unless it is genuine.
    let renewals: [RenewalStatement]
    /// Consents that guardians withdrew; empty unless it is genuine.
    let rescindedConsents: [RescindedConsent]
    /// Which server notification it was; nil for every other proof, and for one that Apple did not sign.
    let notification: VerdictMessage.NotificationKind?
    /// As `VerdictMessage.proofSignedDate`.
    let proofSignedDate: Date?

    /// A finding in which all transactions are the poster's, or in which there are none.
    init(
        _ verdict: Verdict, claims: Claims = .all, renewals: [RenewalStatement] = [],
        rescindedConsents: [RescindedConsent] = [], notification: VerdictMessage.NotificationKind? = nil,
        proofSignedDate: Date? = nil
    ) {
        self.verdict = verdict
        self.claims = claims
        self.renewals = renewals
        self.rescindedConsents = rescindedConsents
        self.notification = notification
        self.proofSignedDate = proofSignedDate
    }

    /// The verdict about what was posted by its number alone: all of it is claimed.
    static func ofNumber(
        _ verdict: Verdict, for app: AppsFile.App, renewals: [RenewalStatement] = []
    ) -> Finding {
        guard case .genuine = verdict else { return Finding(verdict) }
        return Finding(verdict, claims: Claims(ids: nil, areUnproven: app.possession == .proof), renewals: renewals)
    }

    /// Refused for good.
    static func rejected(_ reason: ReasonCode, _ detail: String) -> Finding {
        Finding(.rejected(reason, detail: detail))
    }

    /// Nothing is known, until some time.
    static func unknown(_ reason: ReasonCode, after seconds: Double) -> Finding {
        Finding(.unknown(reason, retryAfterSeconds: seconds))
    }

    /// Whether it is refused for good.
    var isRejected: Bool {
        if case .rejected = verdict { return true }
        return false
    }

    /// The same proof with another verdict; what the old one vouched for goes with it.
    func replaced(by verdict: Verdict) -> Finding {
        Finding(verdict, notification: notification)
    }
}

/// Keeps purchases that nobody paid for apart from those that somebody did: the one place where that is decided.
///
/// Every source passes through it: signed transactions, receipts, verifyReceipt, the App Store Server API. The
/// environment is the one that was *proved*, by a signature or by the host that answered; what the app says it was built
/// for (`expected`) only tells why a sandbox purchase was made.
enum EnvironmentFirewall {
    /// The verdict about transactions that were proved.
    ///
    /// - Parameters:
    ///   - proved: the environment of the whole proof, also of one without transactions; nil where Apple states none.
    ///   - expected: what the app was built for, by its own word.
    static func pass(
        _ transactions: [Transaction], proved: StoreEnvironment?, policy: AppsFile.SandboxPolicy,
        expected: StoreEnvironment?
    ) -> Verdict {
        let isSandbox = proved == .sandbox || transactions.contains { $0.environment == .sandbox }
        guard isSandbox else { return .genuine(transactions.map { marked($0, nil) }) }
        guard policy != .refuse else {
            return .rejected(.sandboxRefused, detail: "the app is configured to refuse sandbox purchases")
        }
        let mark = mark(policy: policy, expected: expected)
        return .genuine(transactions.map { marked($0, $0.environment == .sandbox ? mark : nil) })
    }

    /// Why a sandbox purchase was made.
    private static func mark(policy: AppsFile.SandboxPolicy, expected: StoreEnvironment?) -> TestPurchase? {
        // A build for the App Store buys in the sandbox when App Review tries it, whatever the app thinks of tests.
        if expected == .production { return .appReview }
        return policy == .test ? .sandbox : nil
    }

    private static func marked(_ transaction: Transaction, _ mark: TestPurchase?) -> Transaction {
        var transaction = transaction
        transaction.testPurchase = mark
        return transaction
    }
}

extension Claims {
    /// What the poster claims of a receipt, which holds all that an Apple ID bought in an app, whoever played when.
    ///
    /// The named transaction stands for its whole lineage (the renewals of one subscription). A receipt of a single
    /// lineage needs no name. A name that is not in the receipt is claimed alone, and so found out.
    ///
    /// What Apple's servers add to the signed bytes of a receipt is claimed only where nothing of the lineage stands in
    /// them, and then without a proof. Beside proven claims it needs none: it is its lineage's owner's.
    ///
    /// - Parameters:
    ///   - named: the transaction that the app names as its account's.
    ///   - added: ids that do not stand in the signed bytes, by bytes; empty where the app takes a number for a proof.
    static func of(_ transactions: [Transaction], named: String?, added: Set<[UInt8]> = []) -> Claims {
        let claimed: [Transaction]
        if let named {
            guard let lineage = lineage(of: named, in: transactions) else { return [named] }
            claimed = transactions.filter { isSame($0.originalTransactionId, lineage) }
        } else {
            guard Set(transactions.map { Array($0.originalTransactionId.utf8) }).count <= 1 else {
                return []
            }
            claimed = transactions
        }
        let proven = added.isEmpty ? claimed : claimed.filter { !added.contains(Array($0.transactionId.utf8)) }
        let areUnproven = proven.isEmpty && !claimed.isEmpty
        let ids = (areUnproven ? claimed : proven).map(\.transactionId)
        return Claims(ids: named == nil && ids.count == transactions.count ? nil : ids, areUnproven: areUnproven)
    }

    /// Whether a transaction, or the first of its lineage, is among these.
    static func holds(_ transactions: [Transaction], _ named: String) -> Bool {
        lineage(of: named, in: transactions) != nil
    }

    private static func lineage(of named: String, in transactions: [Transaction]) -> String? {
        if let found = transactions.first(where: { isSame($0.transactionId, named) }) {
            return found.originalTransactionId
        }
        return transactions.first { isSame($0.originalTransactionId, named) }?.originalTransactionId
    }

    /// By bytes, as all of Apple's ids are compared.
    private static func isSame(_ left: String, _ right: String) -> Bool {
        left.utf8.elementsEqual(right.utf8)
    }
}
