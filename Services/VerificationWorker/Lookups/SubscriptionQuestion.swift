import AppStore
import AppStoreServerAPI
import PurchaseModel
import ServiceRuntime

/// Where a subscription stands that was found by a bare id: Get All Subscription Statuses.
///
/// The id may be one of years ago: its latest period and what comes next are told. Never waited for longer than is fair to
/// the verdict.
struct SubscriptionQuestion: LookupQuestion {
    /// What Apple signed of a subscription; of what cannot be had, nothing.
    struct Status: Sendable {
        /// About its next renewal.
        var renewals: [RenewalStatement] = []
        /// Its latest period; the firewall has not seen it yet.
        var latest: Transaction?
    }

    /// A transaction of the subscription, verified; any will do.
    let transactionId: String
    /// The subscription: the id of its first transaction.
    let originalTransactionId: String
    let environment: AppStoreEnvironment

    static func == (one: Self, other: Self) -> Bool {
        one.originalTransactionId == other.originalTransactionId && one.environment == other.environment
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(originalTransactionId)
        hasher.combine(environment)
    }

    func ask(_ apple: LookupCalls, for asker: Asker, patience: Duration) async -> LookupFinding<Status> {
        let (id, environment) = (transactionId, environment)
        let outcome = await apple.serverAPI(environment, for: asker, patience: patience) {
            try await $0.subscriptionStatuses(of: id, in: environment)
        }
        guard case .answer(let answer) = outcome else { return .notFound }
        // All of a customer's subscriptions are in the answer; the others were not asked about.
        let item = answer.lastTransactions.first {
            $0.originalTransactionId?.utf8.elementsEqual(originalTransactionId.utf8) ?? false
        }
        var status = Status()
        if let jws = item?.signedRenewalInfo {
            guard let renewal = await renewal(jws, apple, for: asker) else { return .notFound }
            status.renewals = [renewal]
        }
        // The latest period, if it is one of this subscription and environment.
        if let jws = item?.signedTransactionInfo,
            case .success(let transaction) = await apple.answers.transaction(
                jws, of: asker.app, in: environment, named: nil),
            transaction.originalTransactionId.utf8.elementsEqual(originalTransactionId.utf8)
        {
            status.latest = transaction
        }
        return .found(status)
    }

    /// The renewal info, if it is of this subscription and environment, and everything in it that matters can be read.
    private func renewal(_ jws: String, _ apple: LookupCalls, for asker: Asker) async -> RenewalStatement? {
        guard
            let info = try? apple.answers.judge.signedData.renewalInfo(
                Array(jws.utf8), originalTransactionId: originalTransactionId
            ).get(),
            info.environment?.rawValue == environment.rawValue,
            let named = StoreEnvironment(appleName: environment.rawValue)
        else {
            apple.answers.attention.raise(
                .answerMismatch, app: asker.app.bundleId,
                "an answer of the App Store is not the renewal info of the subscription")
            return nil
        }
        guard !info.unreadableFields.contains("appAccountToken"),
            await apple.answers.objection(to: jws, of: asker.app) == nil
        else { return nil }
        return RenewalStatement(info, environment: named)
    }
}
