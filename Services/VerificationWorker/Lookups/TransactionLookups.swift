import AppStoreServerAPI
import Pacing
import PurchaseModel
import ServiceRuntime

/// Asks the App Store Server API about transaction ids: each id once at a time, at the pace that Apple allows.
final class TransactionLookups: Sendable {
    /// What became known of an id.
    enum Finding: Sendable, Hashable {
        /// Apple signed it; the firewall has not seen it yet.
        case found(Transaction)
        /// Apple has none of this id in the environments that were asked.
        case notFound
        /// Nothing is known, or it can never be an id.
        case stated(Verdict)
    }

    /// How an id is asked about.
    struct Question: Sendable {
        let app: AppsFile.App
        let transactionId: String
        /// Where to look, in this order.
        let order: [AppStoreEnvironment]
        let priority: Priority
        /// The account that it is asked for: Apple\'s budget is shared among them.
        let asker: String
    }

    private struct Key: Hashable {
        let app: String
        let transactionId: String
        /// Where it is looked for, whatever the order.
        let environments: Set<AppStoreEnvironment>
    }

    private let apps: ServedApps
    private let pace: AppStorePace
    private let answers: ServerAnswers
    private let patience: Duration
    private let flights: SingleFlight<Key, Finding>

    /// - Parameters:
    ///   - apps: with what Apple is asked about each.
    ///   - patience: how long a call may wait for room.
    ///   - flightsMaximum: ids that are asked about at a time.
    init(
        apps: ServedApps, pace: AppStorePace, answers: ServerAnswers, patience: Duration,
        flightsMaximum: Int
    ) {
        self.apps = apps
        self.pace = pace
        self.answers = answers
        self.patience = patience
        flights = SingleFlight(
            limits: .init(
                flightsMaximum: flightsMaximum, rememberedMaximum: AppStoreSettings.Limit.remembered,
                rememberedFor: AppStoreSettings.Limit.rememberedFor, keepsEveryValue: true)
        ) { finding in
            // Everything else may be different at the next look.
            if case .found = finding { true } else { false }
        }
    }

    /// Whether an app can be asked about.
    func canAsk(_ app: AppsFile.App) -> Bool { apps.client(of: app.bundleId) != nil }

    /// How many ids are being asked about.
    var inFlight: Int { flights.flights }

    /// What Apple knows of an id, as far as it answers within the time; what was found is remembered.
    func find(_ question: Question, within time: Duration) async -> Finding {
        let key = Key(
            app: question.app.bundleId, transactionId: question.transactionId, environments: Set(question.order))
        let result = await flights.value(of: key, within: time) { await self.ask(question) }
        switch result {
        case .value(let finding): return finding
        case .late: return .stated(.unknown(.appStoreSlow, retryAfterSeconds: RetryTime.late))
        case .full: return .stated(.unknown(.rateLimited, retryAfterSeconds: RetryTime.rateLimited))
        }
    }

    /// Ends what flies.
    func close() async {
        await flights.cancelAll()
    }

    private func ask(_ question: Question) async -> Finding {
        guard let client = apps.client(of: question.app.bundleId) else {
            return .stated(.unknown(.appStoreNotConfigured, retryAfterSeconds: RetryTime.notConfigured))
        }
        let id = question.transactionId
        for environment in question.order {
            let outcome = await pace.call(
                AppStoreHost(kind: .serverAPI, environment: environment), app: question.app.bundleId,
                priority: question.priority, asker: question.asker, patience: patience
            ) { try await client.transactionInfo(id, in: environment) }
            switch outcome {
            case .answer(let answer):
                return await checked(answer.signedTransactionInfo, question, in: environment)
            case .unavailable(let seconds):
                return .stated(.unknown(.appStoreUnavailable, retryAfterSeconds: seconds))
            case .rateLimited(let seconds):
                return .stated(.unknown(.rateLimited, retryAfterSeconds: seconds))
            case .refused(let error):
                if let finding = finding(about: error, question, in: environment) { return finding }
            }
        }
        return .notFound
    }

    private static let digits = UInt8(ascii: "0")...UInt8(ascii: "9")

    /// What an error means; nil when the next environment is to be asked.
    private func finding(
        about error: AppStoreServerError, _ question: Question, in environment: AppStoreEnvironment
    ) -> Finding? {
        let refusal = TransactionRefusal(error)
        switch refusal {
        case .notHere: return nil
        // Production knows no key of an app that was never released; its transactions are all in the sandbox.
        case .unauthorized where environment == .production && !question.app.isReleased: return nil
        case .gone: return .notFound
        // All of Apple's ids are numbers: that this one is none is Apple's word of today.
        case .invalidId where question.transactionId.utf8.allSatisfy(Self.digits.contains): return nil
        case .invalidId: return .stated(.rejected(.transactionIdInvalid, detail: "it cannot be a transaction id"))
        case .unauthorized, .passing, .misunderstood:
            return .stated(answers.verdict(about: error, refusal, of: question.app))
        }
    }

    private func checked(
        _ jws: String, _ question: Question, in environment: AppStoreEnvironment
    ) async -> Finding {
        switch await answers.transaction(jws, of: question.app, in: environment, named: question.transactionId) {
        case .success(let transaction): .found(transaction)
        case .failure(let refusal): .stated(refusal.verdict)
        }
    }
}
