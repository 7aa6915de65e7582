import AppStoreServerAPI
import Pacing
import PurchaseModel
import ServiceRuntime

/// Asks the App Store Server API which transactions an order has, by the id in Apple's e-mail: each id once at a time.
///
/// Only production is asked. The call does not exist in the sandbox, which answers it with nothing at all (Apple's page Look
/// Up Order ID; agisboye/app-store-server-api#17): to the breaker, that would be a broken host. Nobody gets an e-mail
/// about a sandbox purchase either.
final class OrderLookups: Sendable {
    enum Limit {
        /// Orders that are asked about at a time: at Apple's ten a second, more would only wait.
        static let flights = 64
        /// Orders that are remembered.
        static let remembered = 1_000
        /// Transactions of an order; whatever has more is not one customer's shopping.
        static let transactions = 500
    }

    /// What became known of an order.
    enum Finding: Sendable, Hashable {
        /// Apple signed all of these; one or more.
        case found([Transaction])
        /// Apple has no such order of the app.
        case notFound
        /// Nothing is known.
        case stated(Verdict)
    }

    /// How an order is asked about.
    struct Question: Sendable {
        let app: AppsFile.App
        let orderId: String
        let priority: Priority
        /// The account that it is asked for: Apple\'s budget is shared among them.
        let asker: String
    }

    private struct Key: Hashable {
        let app: String
        let orderId: String
    }

    private static let host = AppStoreHost(kind: .serverAPI, environment: .production)

    private let apps: ServedApps
    private let pace: AppStorePace
    private let answers: ServerAnswers
    private let patience: Duration
    private let flights: SingleFlight<Key, Finding>

    /// - Parameters:
    ///   - apps: with what Apple is asked about each.
    ///   - patience: how long a call may wait for room.
    ///   - flightsMaximum: orders that are asked about at a time, up to ``Limit/flights``.
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
                flightsMaximum: min(flightsMaximum, Limit.flights), rememberedMaximum: Limit.remembered,
                rememberedFor: AppStoreSettings.Limit.rememberedFor, keepsEveryValue: true)
        ) { finding in
            // Everything else may be different at the next look.
            if case .found = finding { true } else { false }
        }
    }

    /// How many orders are being asked about.
    var inFlight: Int { flights.flights }

    /// What Apple knows of an order, as far as it answers within the time; what was found is remembered.
    func find(_ question: Question, within time: Duration) async -> Finding {
        let key = Key(app: question.app.bundleId, orderId: question.orderId)
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
        let id = question.orderId
        let outcome = await pace.call(
            Self.host, app: question.app.bundleId, callClass: .orders, priority: question.priority,
            asker: question.asker, patience: patience
        ) { try await client.lookUpOrder(id, in: .production) }
        switch outcome {
        case .answer(let answer): return await checked(answer, question)
        case .unavailable(let seconds):
            return .stated(.unknown(.appStoreUnavailable, retryAfterSeconds: seconds))
        case .rateLimited(let seconds):
            return .stated(.unknown(.rateLimited, retryAfterSeconds: seconds))
        case .refused(let error): return finding(about: error, question)
        }
    }

    /// What an error means.
    ///
    /// Apple documents none for an id that is not known (status 1 says so); one that says it all the same means the same.
    private func finding(about error: AppStoreServerError, _ question: Question) -> Finding {
        let refusal = TransactionRefusal(error)
        switch refusal {
        case .notHere, .gone, .invalidId: return .notFound
        // Nobody could buy in production what was never released.
        case .unauthorized where !question.app.isReleased: return .notFound
        // The order id is all that the request says: what is wrong with it is the id; so is one that was not sent.
        case .misunderstood where error.category == .invalidRequest && [nil, .generalBadRequest].contains(error.code):
            return .notFound
        case .unauthorized, .passing, .misunderstood:
            return .stated(answers.verdict(about: error, refusal, of: question.app))
        }
    }

    /// The transactions of an order, when each of them is what Apple says; of half an order nothing is concluded.
    private func checked(_ answer: OrderLookupResponse, _ question: Question) async -> Finding {
        switch answer.status {
        case .valid where answer.signedTransactions.count > Limit.transactions:
            return mismatch(question, "an order of the App Store has more transactions than an order can have")
        case .valid: break
        case .invalid: return .notFound
        default: return mismatch(question, "an answer about an order has a status that nobody knows")
        }
        var found: [Transaction] = []
        for jws in answer.signedTransactions {
            switch await answers.transaction(jws, of: question.app, in: .production, named: nil) {
            case .success(let transaction): found.append(transaction)
            case .failure(let refusal): return .stated(refusal.verdict)
            }
        }
        return found.isEmpty ? .notFound : .found(found)
    }

    private func mismatch(_ question: Question, _ message: String) -> Finding {
        answers.attention.raise(.answerMismatch, app: question.app.bundleId, message)
        return .stated(ServerAnswers.mismatch)
    }
}
