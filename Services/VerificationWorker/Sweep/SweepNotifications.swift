import AppStore
import AppStoreServerAPI
import Foundation
import Messages
import Persistence
import PurchaseModel
import ServiceRuntime

/// Compares what Apple sent, by its own word, with what came: Get Notification History of an app, a window of time after the other.
struct SweepNotifications: Sendable {
    /// How long Apple keeps notifications, less an hour for clocks (apple-facts C9).
    static func history(in environment: StoreEnvironment) -> TimeInterval {
        (environment == .sandbox ? 30 : 180) * 86_400 - 3_600
    }

    let calls: SweepCalls
    let judge: OfflineJudge
    let recoveries: RecoverFindings
    let recorded: RecordedStatements
    let settings: SweepSettings
    var now: @Sendable () -> Date = { Date() }

    /// Reads a page of the round, and takes in what is missing.
    ///
    /// - Throws: `PostgresError`.
    func page(of task: SweepTask, _ progress: SweepTaskStore.Progress, _ app: AppsFile.App) async throws -> SweepStep {
        guard let environment = task.environment else { return .end(progress) }
        guard let window = progress.window ?? window(of: task, in: environment) else { return .end(progress) }
        let request = NotificationHistoryRequest(
            startDate: window.lowerBound, endDate: window.upperBound, onlyFailures: task.kind == .failures)
        let answer = await calls.call(task, app) { [page = progress.page] client, host in
            try await client.notificationHistory(request, after: page, in: host)
        }
        switch answer {
        case .step(let step): return step
        case .value(let response):
            let taken = try await takeIn(response.notificationHistory, of: app, in: environment, task)
            if let again = taken.again(after: task.failures) { return again }
            var next = SweepTaskStore.Progress(
                window: window, revision: progress.revision, calls: 1, found: taken.found)
            guard response.hasMore else { return .end(next) }
            // Without a new token the same page would come for ever.
            guard let token = response.paginationToken, token != progress.page else {
                return .putOff(
                    seconds: RetryTime.attention, reason: "there are more pages, but no way to them", startsAnew: true)
            }
            next.page = token
            return .page(next)
        }
    }

    /// From a little before the last good point until now; nil where nothing is between.
    private func window(of task: SweepTask, in environment: StoreEnvironment) -> Range<Date>? {
        let end = now()
        let lookback = end.addingTimeInterval(-settings.lookback.inSeconds)
        // What Apple could not deliver it tries for days: each look is at all of them.
        var start =
            task.kind == .failures
            ? min(lookback, task.coveredUntil ?? lookback)
            : (task.coveredUntil ?? lookback).addingTimeInterval(-settings.overlap.inSeconds)
        start = max(start, end.addingTimeInterval(-Self.history(in: environment)))
        return start < end ? start..<end : nil
    }

    private func takeIn(
        _ sent: [SentNotification], of app: AppsFile.App, in environment: StoreEnvironment, _ task: SweepTask
    ) async throws -> SweepTaken {
        let ids = sent.map {
            SweepFinding.submissionId(app: app.bundleId, kind: .serverNotification, proof: $0.signedPayload)
        }
        let known = try await recoveries.known(ids)
        let missing = zip(ids, sent).filter { !known.contains($0.0) }.map(\.1)
        var taken = SweepTaken()
        var read: [Read] = []
        for notification in missing {
            switch signed(notification, of: app, in: environment) {
            case .success(let signed): read.append(signed)
            case .failure(let refusal): taken.unchecked = refusal.verdict
            }
        }
        guard !read.isEmpty else { return taken }
        if let mark = try await recorded.notificationsDroppedBefore() {
            // Those that were dealt with may be gone: of what is older, only what the books lack is missing.
            let old = read.filter { $0.signed.signedDate < mark }.compactMap(\.transaction)
            let books = try await recorded.transactions(of: old.map(\.orderKey))
            read.removeAll { item in
                guard item.signed.signedDate < mark else { return false }
                // Of what is about no purchase nothing can be told any more.
                guard let transaction = item.transaction else { return true }
                return books[transaction.orderKey].map { !$0.lacks(transaction) } ?? false
            }
        }
        taken.found = try await recoveries.takeIn(read.map { finding($0, of: app, in: environment) }, by: task)
        return taken
    }

    /// A notification that Apple signed.
    private struct Read {
        let proof: String
        let signed: SignedNotification
        /// The transaction that it is about; nil where it is about none.
        let transaction: Transaction?
    }

    /// Nothing is believed because it came over the right connection.
    private func signed(
        _ sent: SentNotification, of app: AppsFile.App, in environment: StoreEnvironment
    ) -> Result<Read, OfflineJudge.Refusal> {
        let proof = sent.signedPayload
        let result = judge.signedData.notification(Array(proof.utf8), app: app.identity)
        guard case .success(let signed) = result,
            StoreEnvironment(appleName: signed.environment.rawValue) == environment
        else { return .failure(refusal(of: result, app)) }
        var transaction: Transaction?
        if case .data(let data) = signed.content { transaction = data.transaction.map { Transaction($0) } }
        return .success(Read(proof: proof, signed: signed, transaction: transaction))
    }

    /// Another number of the app is a mistake in our settings, and is waited for; anything else may be Apple's.
    private func refusal(
        of result: Result<SignedNotification, SignedDataRejection>, _ app: AppsFile.App
    ) -> OfflineJudge.Refusal {
        if case .failure(let rejection) = result, rejection.code == .appAppleIdMismatch {
            calls.attention.raise(
                .appAppleIdMismatch, app: app.bundleId, "a history of the App Store names another number of the app")
            return OfflineJudge.Refusal(
                verdict: .unknown(.appAppleIdMismatch, retryAfterSeconds: RetryTime.attention))
        }
        calls.attention.raise(
            .answerMismatch, app: app.bundleId, "a history of the App Store has what is no notification of the app")
        return OfflineJudge.Refusal(verdict: ServerAnswers.mismatch)
    }

    private func finding(_ read: Read, of app: AppsFile.App, in environment: StoreEnvironment) -> SweepFinding {
        let uuid = read.signed.notificationUUID
        // The same in every repetition, and if Apple should sign it anew for the history.
        return SweepFinding(
            app: app.bundleId, environment: environment, name: "n:\(uuid)", kind: .serverNotification,
            proof: read.proof, transactionId: read.transaction?.transactionId,
            key: Self.lineage(of: read.signed) ?? uuid)
    }

    private static func lineage(of signed: SignedNotification) -> String? {
        guard case .data(let data) = signed.content else { return nil }
        return data.transaction?.originalTransactionId ?? data.renewalInfo?.originalTransactionId
    }
}
