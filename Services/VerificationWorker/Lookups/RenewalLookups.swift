import AppStore
import AppStoreServerAPI
import Pacing
import PurchaseModel
import ServiceRuntime

/// Asks Get All Subscription Statuses where a subscription stands that was found by a bare id.
///
/// The id may be one of years ago: its latest period and what comes next are told. Never waited for longer than is fair to
/// the verdict.
final class RenewalLookups: Sendable {
    /// What is asked about.
    struct Question: Sendable {
        let app: AppsFile.App
        /// A transaction of the subscription, verified.
        let transactionId: String
        /// The subscription: the id of its first transaction.
        let originalTransactionId: String
        let environment: AppStoreEnvironment
        let priority: Priority
        /// The account that it is asked for: Apple\'s budget is shared among them.
        let asker: String
    }

    /// What Apple signed of a subscription; of what cannot be had, nothing.
    struct Status: Sendable {
        /// About its next renewal.
        var renewals: [RenewalStatement] = []
        /// Its latest period; the firewall has not seen it yet.
        var latest: Transaction?
    }

    private struct Key: Hashable {
        let app: String
        let originalTransactionId: String
        let environment: AppStoreEnvironment
    }

    private let apps: ServedApps
    private let pace: AppStorePace
    private let answers: ServerAnswers
    private let patience: Duration
    private let flights: SingleFlight<Key, Status?>

    /// - Parameters:
    ///   - apps: with what Apple is asked about each.
    ///   - patience: how long a lookup may wait for its transaction; the renewal gets half of it at most.
    ///   - flightsMaximum: subscriptions that are asked about at a time.
    init(
        apps: ServedApps, pace: AppStorePace, answers: ServerAnswers, patience: Duration,
        flightsMaximum: Int
    ) {
        self.apps = apps
        self.pace = pace
        self.answers = answers
        self.patience = patience / 2
        flights = SingleFlight(
            limits: .init(
                flightsMaximum: flightsMaximum, rememberedMaximum: AppStoreSettings.Limit.remembered,
                rememberedFor: AppStoreSettings.Limit.rememberedFor, keepsEveryValue: true)
        ) { $0 != nil }
    }

    /// How many subscriptions are being asked about.
    var inFlight: Int { flights.flights }

    /// Where the subscription stands; nothing when Apple does not answer in time, or not well.
    func find(_ question: Question, within time: Duration) async -> Status {
        let key = Key(
            app: question.app.bundleId, originalTransactionId: question.originalTransactionId,
            environment: question.environment)
        let result = await flights.value(of: key, within: min(time, patience)) { await self.ask(question) }
        guard case .value(let status) = result else { return Status() }
        return status ?? Status()
    }

    /// Ends what flies.
    func close() async {
        await flights.cancelAll()
    }

    /// Nil when nothing was learnt.
    private func ask(_ question: Question) async -> Status? {
        guard let client = apps.client(of: question.app.bundleId) else { return nil }
        let outcome = await pace.call(
            AppStoreHost(kind: .serverAPI, environment: question.environment), app: question.app.bundleId,
            priority: question.priority, asker: question.asker, patience: patience
        ) { try await client.subscriptionStatuses(of: question.transactionId, in: question.environment) }
        guard case .answer(let answer) = outcome else { return nil }
        // All of a customer's subscriptions are in the answer; the others were not asked about.
        let item = answer.data.lazy.flatMap(\.lastTransactions).first {
            $0.originalTransactionId?.utf8.elementsEqual(question.originalTransactionId.utf8) ?? false
        }
        var status = Status()
        if let jws = item?.signedRenewalInfo {
            guard let renewal = await checked(jws, question) else { return nil }
            status.renewals = [renewal]
        }
        if let jws = item?.signedTransactionInfo { status.latest = await latest(jws, question) }
        return status
    }

    /// The latest period, if it is one of this subscription and environment.
    private func latest(_ jws: String, _ question: Question) async -> Transaction? {
        let found = await answers.transaction(jws, of: question.app, in: question.environment, named: nil)
        guard case .success(let transaction) = found,
            transaction.originalTransactionId.utf8.elementsEqual(question.originalTransactionId.utf8)
        else { return nil }
        return transaction
    }

    /// The renewal info, if it is of this subscription and environment, and everything in it that matters can be read.
    private func checked(_ jws: String, _ question: Question) async -> RenewalStatement? {
        guard
            let info = try? answers.judge.signedData.renewalInfo(
                Array(jws.utf8), originalTransactionId: question.originalTransactionId
            ).get(),
            info.environment?.rawValue == question.environment.rawValue,
            let environment = StoreEnvironment(appleName: question.environment.rawValue)
        else {
            answers.attention.raise(
                .answerMismatch, app: question.app.bundleId,
                "an answer of the App Store is not the renewal info of the subscription")
            return nil
        }
        guard !info.unreadableFields.contains("appAccountToken"),
            await answers.objection(to: jws, of: question.app) == nil
        else { return nil }
        return RenewalStatement(info, environment: environment)
    }
}
