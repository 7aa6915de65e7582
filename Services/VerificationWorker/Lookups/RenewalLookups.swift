import AppStore
import AppStoreServerAPI
import Pacing
import PurchaseModel
import ServiceRuntime

/// Asks Get All Subscription Statuses what comes next for a subscription that was found by a bare id: good to know, and never
/// waited for longer than is fair to the verdict.
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
    }

    private struct Key: Hashable {
        let app: String
        let originalTransactionId: String
        let environment: AppStoreEnvironment
    }

    private let clients: [String: AppStoreServerClient]
    private let pace: AppStorePace
    private let answers: ServerAnswers
    private let patience: Duration
    private let flights: SingleFlight<Key, [RenewalStatement]?>

    /// - Parameters:
    ///   - clients: by bundle id; an app without a key has none.
    ///   - patience: how long a lookup may wait for its transaction; the renewal gets half of it at most.
    ///   - flightsMaximum: subscriptions that are asked about at a time.
    init(
        clients: [String: AppStoreServerClient], pace: AppStorePace, answers: ServerAnswers, patience: Duration,
        flightsMaximum: Int
    ) {
        self.clients = clients
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

    /// What Apple signed about the subscription's next renewal; nothing when it does not answer in time, or not well.
    func find(_ question: Question, within time: Duration) async -> [RenewalStatement] {
        let key = Key(
            app: question.app.bundleId, originalTransactionId: question.originalTransactionId,
            environment: question.environment)
        let result = await flights.value(of: key, within: min(time, patience)) { await self.ask(question) }
        guard case .value(let renewals) = result else { return [] }
        return renewals ?? []
    }

    /// Ends what flies.
    func close() async {
        await flights.cancelAll()
    }

    /// Nil when nothing was learnt.
    private func ask(_ question: Question) async -> [RenewalStatement]? {
        guard let client = clients[question.app.bundleId] else { return nil }
        let outcome = await pace.call(
            AppStoreHost(kind: .serverAPI, environment: question.environment), app: question.app.bundleId,
            priority: question.priority, patience: patience
        ) { try await client.subscriptionStatuses(of: question.transactionId, in: question.environment) }
        guard case .answer(let answer) = outcome else { return nil }
        // All of a customer's subscriptions are in the answer; the others were not asked about.
        let item = answer.data.lazy.flatMap(\.lastTransactions).first {
            $0.originalTransactionId?.utf8.elementsEqual(question.originalTransactionId.utf8) ?? false
        }
        guard let jws = item?.signedRenewalInfo else { return [] }
        return await checked(jws, question).map { [$0] }
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
