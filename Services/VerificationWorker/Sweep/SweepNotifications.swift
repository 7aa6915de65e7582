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
            let taken = try await takeIn(response, of: app, in: environment, task)
            if let again = taken.again(after: task.mismatches) { return again }
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
        _ page: NotificationHistoryResponse, of app: AppsFile.App, in environment: StoreEnvironment, _ task: SweepTask
    ) async throws -> SweepTaken {
        let sent = page.notificationHistory
        let ids = sent.map {
            SweepFinding.submissionId(app: app.bundleId, kind: .serverNotification, proof: $0.signedPayload)
        }
        let known = try await recoveries.known(ids)
        let missing = zip(ids, sent).filter { !known.contains($0.0) }.map(\.1)
        var taken = SweepTaken(unchecked: calls.verdict(ofUnreadable: page.unreadableEntries, app))
        var read: [Read] = []
        var findings: [SweepFinding] = []
        for notification in missing {
            let proof = notification.signedPayload
            switch content(of: proof, app, in: environment) {
            case .read(let one): read.append(one)
            case .unread:
                findings.append(
                    .unread(proof, kind: .serverNotification, app: app.bundleId, environment: environment))
            case .refused(let verdict): taken.note(verdict)
            }
        }
        findings += try await lacking(read).map { finding($0, of: app, in: environment) }
        taken.found = try await recoveries.takeIn(findings, by: task)
        return taken
    }

    /// Without those that were dealt with and may be gone: of what is older, only what the books lack is missing.
    private func lacking(_ read: [Read]) async throws -> [Read] {
        guard !read.isEmpty, let mark = try await recorded.notificationsDroppedBefore() else { return read }
        let old = read.filter { $0.signed.signedDate < mark }.compactMap(\.transaction)
        let books = try await recorded.transactions(of: old.map(\.orderKey))
        return read.filter { item in
            guard item.signed.signedDate < mark else { return true }
            // Of what is about no purchase nothing can be told any more.
            guard let transaction = item.transaction else { return false }
            return books[transaction.orderKey]?.lacks(transaction) ?? true
        }
    }

    /// A notification that Apple signed.
    private struct Read {
        let proof: String
        let signed: SignedNotification
        /// The transaction that it is about; nil where it is about none.
        let transaction: Transaction?
    }

    /// What one entry of a history is.
    private enum Content {
        case read(Read)
        /// Apple signed it, and this version cannot read it; the key that asked says whose it is.
        case unread
        /// It is not Apple's, or not the app's.
        case refused(Verdict)
    }

    /// Nothing is believed because it came over the right connection.
    private func content(of proof: String, _ app: AppsFile.App, in environment: StoreEnvironment) -> Content {
        switch judge.signedData.notification(Array(proof.utf8), app: app.identity) {
        case .success(let signed) where StoreEnvironment(appleName: signed.environment.rawValue) == environment:
            var transaction: Transaction?
            if case .data(let data) = signed.content { transaction = data.transaction.map { Transaction($0) } }
            return .read(Read(proof: proof, signed: signed, transaction: transaction))
        case .failure(let rejection) where OfflineJudge.notificationMayBeReadLater.contains(rejection.code):
            return .unread
        case .failure(let rejection) where rejection.code == .appAppleIdMismatch:
            // It is our settings that have another number, and they are waited for.
            calls.attention.raise(
                .appAppleIdMismatch, app: app.bundleId, "a history of the App Store names another number of the app")
            return .refused(.unknown(.appAppleIdMismatch, retryAfterSeconds: RetryTime.attention))
        default:
            calls.attention.raise(
                .answerMismatch, app: app.bundleId, "a history of the App Store has what is no notification of the app")
            return .refused(ServerAnswers.mismatch)
        }
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
