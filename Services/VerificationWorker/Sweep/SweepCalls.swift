import AppStoreServerAPI
import Pacing
import Persistence
import PurchaseModel
import ServiceRuntime

/// Apple's answers to the questions of the sweep, at the lowest priority: whoever waits for an answer goes first.
struct SweepCalls: Sendable {
    /// How long a call may wait for room; then it is put off.
    static let patience = Duration.seconds(20)

    /// Whom the calls are for: one asker among all accounts.
    static let asker = "sweep"

    let apps: ServedApps
    let pace: AppStorePace
    let attention: AttentionLog

    /// An answer, or what to do without one.
    enum Answer<Value: Sendable>: Sendable {
        case value(Value)
        case step(SweepStep)
    }

    /// Makes one call for a task.
    func call<Value: Sendable>(
        _ task: SweepTask, _ app: AppsFile.App, callClass: CallClass = .usual,
        _ body: @escaping @Sendable (AppStoreServerClient, AppStoreEnvironment) async throws -> Value
    ) async -> Answer<Value> {
        guard let environment = task.environment.map(AppStoreEnvironment.init),
            let client = apps.client(of: app.bundleId)
        else {
            return .step(.putOff(seconds: RetryTime.notConfigured, reason: ReasonCode.appStoreNotConfigured.rawValue))
        }
        let outcome = await pace.call(
            AppStoreHost(kind: .serverAPI, environment: environment), app: app.bundleId, callClass: callClass,
            use: .background, priority: .sweep, asker: Self.asker, patience: Self.patience
        ) { try await body(client, environment) }
        switch outcome {
        case .answer(let value): return .value(value)
        case .later(let reason, let seconds):
            return .step(.putOff(seconds: seconds, reason: reason.rawValue))
        case .refused(let error): return .step(step(about: error, task, app))
        }
    }

    /// What of a page has nothing signed is told, and does not spoil the rest: it counts as what does not verify.
    ///
    /// - Returns: what is known of these entries; nil where there are none.
    func verdict(ofUnreadable entries: Int, _ app: AppsFile.App) -> Verdict? {
        guard entries > 0 else { return nil }
        attention.raise(
            .answerMismatch, app: app.bundleId, "an answer of the App Store has entries without a signed text")
        return ServerAnswers.mismatch
    }

    private func step(about error: AppStoreServerError, _ task: SweepTask, _ app: AppsFile.App) -> SweepStep {
        switch SweepTask.Refusal(error) {
        case .startsAnew: return .putOff(seconds: 0, reason: "\(error)", startsAnew: true)
        case .unknownCustomer where task.kind.isOfCustomer:
            // Its account is gone, or the purchase was another environment's: there is nothing to be found.
            return .end(SweepTaskStore.Progress(revision: task.revision, calls: 1))
        case .misunderstood where task.kind == .order && error.category == .invalidRequest,
            .unauthorized where task.kind == .order && !app.isReleased:
            // The order id is all that the question says, and somebody typed it: what is wrong is the id. Of an app that was
            // never released nobody has one.
            return .end(SweepTaskStore.Progress(calls: 1))
        case .unauthorized where task.environment == .production && !app.isReleased:
            return .putOff(seconds: RetryTime.notConfigured, reason: "the app was never released")
        case .unauthorized:
            attention.raise(
                .appStoreUnauthorized, app: app.bundleId, "the App Store does not accept the app's key for a sweep")
            return .putOff(seconds: RetryTime.attention, reason: ReasonCode.appStoreUnauthorized.rawValue)
        case .passing:
            return .putOff(seconds: RetryTime.appStoreTrouble, reason: ReasonCode.appStoreUnavailable.rawValue)
        case .unknownCustomer, .misunderstood:
            attention.raise(
                .appStoreRefused, app: app.bundleId, "the App Store refuses a question of the sweep: \(error)")
            return .putOff(seconds: RetryTime.attention, reason: "\(error)")
        }
    }
}

extension AppStoreEnvironment {
    /// The host of an environment.
    init(_ environment: StoreEnvironment) {
        self = environment == .sandbox ? .sandbox : .production
    }
}
