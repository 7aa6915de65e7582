import AppStoreServerAPI
import Pacing
import PurchaseModel
import ServiceRuntime

/// Something that Apple can be asked about: a transaction, an order, a subscription, a receipt.
///
/// Equal questions of one app share a call, whoever asks.
protocol LookupQuestion: Sendable, Hashable {
    associatedtype Answer: Sendable

    /// What Apple says.
    ///
    /// - Parameter patience: how long a call may wait for room.
    func ask(_ apple: LookupCalls, for asker: Asker, patience: Duration) async -> LookupFinding<Answer>
    /// Whether an answer is worth remembering.
    static func isRemembered(_ answer: Answer) -> Bool
}

extension LookupQuestion {
    static func isRemembered(_ answer: Answer) -> Bool { true }
}

/// What became known of a question.
enum LookupFinding<Answer: Sendable>: Sendable {
    /// Apple vouches for it; the firewall has not seen it yet.
    case found(Answer)
    /// Apple has no such thing where it was asked.
    case notFound
    /// Nothing is known, or it can never be found.
    case stated(Verdict)

    /// Nothing is known, until some time.
    static func unknown(_ reason: ReasonCode, after seconds: Double) -> Self {
        .stated(.unknown(reason, retryAfterSeconds: seconds))
    }
}

/// Whom a question is asked for.
struct Asker: Sendable {
    let app: AppsFile.App
    let priority: Priority
    /// The account: Apple's budget is shared among them.
    let account: String
    /// Where to look, the likelier first: it saves a call, and decides nothing.
    let order: [AppStoreEnvironment]
}

/// How Apple is asked, and what its answers are worth.
struct LookupCalls: Sendable {
    let apps: ServedApps
    let pace: AppStorePace
    let answers: ServerAnswers
    let verifyReceipt: VerifyReceiptClient

    /// Calls the App Store Server API with the app's key.
    func serverAPI<Value: Sendable>(
        _ environment: AppStoreEnvironment, for asker: Asker, callClass: CallClass = .usual, patience: Duration,
        _ body: @escaping @Sendable (AppStoreServerClient) async throws -> Value
    ) async -> CallOutcome<Value> {
        guard let client = apps.client(of: asker.app.bundleId) else {
            return .later(.appStoreNotConfigured, afterSeconds: RetryTime.notConfigured)
        }
        return await pace.call(
            AppStoreHost(kind: .serverAPI, environment: environment), app: asker.app.bundleId, callClass: callClass,
            priority: asker.priority, asker: asker.account, patience: patience
        ) { try await body(client) }
    }
}

/// Asks Apple about things of one kind: each once at a time, at the pace that Apple allows.
final class Lookups<Question: LookupQuestion>: Sendable {
    private struct Key: Hashable {
        let app: String
        let question: Question
    }

    private let calls: LookupCalls
    private let patience: Duration
    private let flights: SingleFlight<Key, LookupFinding<Question.Answer>>

    /// - Parameters:
    ///   - patience: how long a call may wait for room.
    ///   - flights: how many may be asked about at a time.
    ///   - remembered: how many answers are remembered.
    ///   - rememberedFor: how long.
    init(
        _ calls: LookupCalls, patience: Duration, flights: Int,
        remembered: Int = AppStoreSettings.rememberedMaximum,
        rememberedFor: Duration = AppStoreSettings.rememberedFor
    ) {
        self.calls = calls
        self.patience = patience
        self.flights = SingleFlight(
            limits: .init(
                flightsMaximum: flights, rememberedMaximum: remembered, rememberedFor: rememberedFor,
                keepsEveryValue: true)
        ) { finding in
            // Everything else may be different at the next look.
            if case .found(let answer) = finding { Question.isRemembered(answer) } else { false }
        }
    }

    /// Whether an app can be asked about.
    func canAsk(_ app: AppsFile.App) -> Bool { calls.apps.client(of: app.bundleId) != nil }

    /// How many are being asked about.
    var inFlight: Int { flights.flights }

    /// What Apple knows, as far as it answers within the time; what was found is remembered.
    func find(_ question: Question, for asker: Asker, within time: Duration) async -> LookupFinding<Question.Answer> {
        let key = Key(app: asker.app.bundleId, question: question)
        let result = await flights.value(of: key, within: time) { [calls, patience] in
            await question.ask(calls, for: asker, patience: patience)
        }
        switch result {
        case .value(let finding): return finding
        case .late: return .unknown(.appStoreSlow, after: RetryTime.late)
        case .full: return .unknown(.rateLimited, after: RetryTime.rateLimited)
        }
    }

    /// Ends what flies.
    func close() async {
        await flights.cancelAll()
    }
}
