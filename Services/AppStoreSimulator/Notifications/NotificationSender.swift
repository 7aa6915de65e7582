import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1

/// Posts notifications to the apps' servers and keeps what came of it (apple-facts C9).
///
/// What is about one lineage is sent one after the other, in its order; everything else at the same time.
struct NotificationSender: Sendable {
    enum Limit {
        /// Lineages that are told about at the same time: more than a small server takes, fewer than open files.
        static let concurrentSends = 32
        /// How long one attempt may take, in our time; Apple says "seconds", and that 30 are too many.
        static let timeout = Duration.seconds(5)
        /// Redirects that are followed; one more is taken for a circle.
        static let redirects = 5
        /// Bytes of an answer, which nobody reads.
        static let answerBytes = 1_048_576
        /// How long a connection is kept for the next notification: less than servers wait before they close it.
        static let idleSeconds: Int64 = 2
    }

    /// What came of sending one notification once.
    struct Outcome: Sendable {
        let id: String
        let attempt: NotificationRecord.Attempt
        /// Whether Apple would try again.
        let mayRetry: Bool
    }

    private let store: Store
    private let client: HTTPClient
    private let timeout: Duration
    private let faults: FaultBook?

    /// - Parameters:
    ///   - faults: how notifications go astray.
    ///   - timeout: of one attempt, in our time.
    init(store: Store, faults: FaultBook? = nil, timeout: Duration = Limit.timeout) {
        self.store = store
        self.timeout = timeout
        self.faults = faults
        var configuration = HTTPClient.Configuration(
            redirectConfiguration: .follow(max: Limit.redirects, allowCycles: false))
        configuration.httpVersion = .http1Only
        configuration.connectionPool.idleTimeout = .seconds(Limit.idleSeconds)
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = Limit.concurrentSends
        configuration.connectionPool.retryConnectionEstablishment = false
        client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    /// Closes the connections; nothing is sent afterwards.
    func shutdown() async {
        try? await client.shutdown()
    }

    /// Sends each of them once, and keeps the attempts in one change of the store.
    ///
    /// Cancelled, it keeps the attempts that were finished; the others stay due.
    func deliver(_ due: [NotificationRecord]) async {
        let planned = faults?.plan(for: due) ?? due
        guard !planned.isEmpty else { return }
        let bundleIds = Set(planned.map(\.bundleId))
        let addresses = await store.read { state in
            Dictionary(uniqueKeysWithValues: bundleIds.map { ($0, state.apps[$0]?.notificationURLs ?? [:]) })
        }
        var waiting = Self.sequences(of: planned, due: due)[...]
        let outcomes = await withTaskGroup(of: [Outcome].self) { group in
            var outcomes: [Outcome] = []
            for _ in 0..<Limit.concurrentSends {
                guard let sequence = waiting.popFirst() else { break }
                group.addTask { await send(sequence, to: addresses) }
            }
            for await sent in group {
                outcomes += sent
                if let sequence = waiting.popFirst() { group.addTask { await send(sequence, to: addresses) } }
            }
            return outcomes
        }
        let nowhere = planned.filter { addresses[$0.bundleId]?[$0.environment] == nil }.map(\.id)
        await keep(outcomes, withoutAddress: nowhere)
    }

    /// What must be sent one after the other: each lineage, or everything when it was put out of order on purpose.
    private static func sequences(
        of planned: [NotificationRecord], due: [NotificationRecord]
    ) -> [[NotificationRecord]] {
        var known: Set<String> = []
        if planned.map(\.id).filter({ known.insert($0).inserted }) != due.map(\.id) { return [planned] }
        var places: [String: Int] = [:]
        var sequences: [[NotificationRecord]] = []
        for notification in planned {
            let key = notification.originalTransactionId ?? notification.notificationUUID
            if let place = places[key] {
                sequences[place].append(notification)
            } else {
                places[key] = sequences.count
                sequences.append([notification])
            }
        }
        return sequences
    }

    private func keep(_ outcomes: [Outcome], withoutAddress: [String]) async {
        // A store that cannot write says so to everybody who changes it; there is nobody to tell here.
        try? await store.change { state, _ in
            for id in withoutAddress {
                guard var row = state.notifications[id] else { continue }
                row.nextAttemptDate = nil
                state.put(row)
            }
            var kept: Set<String> = []
            // What was sent twice is one attempt: the first.
            for outcome in outcomes where kept.insert(outcome.id).inserted {
                guard var row = state.notifications[outcome.id] else { continue }
                row.add(outcome.attempt, mayRetry: outcome.mayRetry)
                state.put(row)
            }
        }
    }

    private func send(
        _ notifications: [NotificationRecord], to addresses: [String: [StoreEnvironment: String]]
    ) async -> [Outcome] {
        var outcomes: [Outcome] = []
        for notification in notifications {
            guard let address = addresses[notification.bundleId]?[notification.environment], !Task.isCancelled else {
                continue
            }
            if let delay = faults?.notificationDelay, delay > .zero { try? await Task.sleep(for: delay) }
            let start = store.clock.now
            let (result, status) =
                faults?.losesNotification() == true
                ? (.noResponse, nil) : await post(notification.signedPayload, to: address)
            if Task.isCancelled, result != .success { continue }
            let attempt = NotificationRecord.Attempt(attemptDate: start, sendAttemptResult: result.rawValue)
            // A status that is neither success nor an error of 400 or 500 ends it.
            let mayRetry = status.map { (400..<600).contains($0) } ?? true
            outcomes.append(Outcome(id: notification.id, attempt: attempt, mayRetry: mayRetry))
        }
        return outcomes
    }

    /// One attempt: the result, and the status if there was one that failed.
    private func post(_ signedPayload: String, to address: String) async -> (SendAttemptResult, status: Int?) {
        var request = HTTPClientRequest(url: address)
        request.method = .POST
        request.headers.add(name: "content-type", value: "application/json")
        request.headers.add(name: "user-agent", value: "countersign-app-store-simulator")
        request.body = .bytes(ByteBuffer(string: "{\"signedPayload\":\"\(signedPayload)\"}"))
        let prepared = request
        return await withTaskGroup(of: (SendAttemptResult, status: Int?)?.self) { group in
            group.addTask { await exchange(prepared) }
            group.addTask {
                try? await Task.sleep(for: timeout)
                return nil
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            return first ?? (.timedOut, nil)
        }
    }

    private func exchange(_ request: HTTPClientRequest) async -> (SendAttemptResult, status: Int?) {
        var hasHead = false
        do {
            let response = try await client.execute(request, deadline: .distantFuture)
            hasHead = true
            _ = try await response.body.collect(upTo: Limit.answerBytes)
            let status = Int(response.status.code)
            guard (200...206).contains(status) else { return (.unsuccessfulStatus, status) }
            return (SendAttemptResult.isReadable(response.headers) ? .success : .unsupportedCharset, nil)
        } catch {
            return (SendAttemptResult(of: error, hasHead: hasHead), nil)
        }
    }
}

extension NotificationRecord {
    /// Adds an attempt, and says when the next is.
    mutating func add(_ attempt: Attempt, mayRetry: Bool) {
        // A resend may come after the last attempt; Apple's lists hold six.
        if attempts.count == NotificationSchedule.Limit.attempts { attempts.removeFirst() }
        attempts.append(attempt)
        let hasFailed = attempt.sendAttemptResult != SendAttemptResult.success.rawValue
        nextAttemptDate =
            hasFailed && mayRetry
            ? NotificationSchedule.next(after: attempts.count, last: attempt.attemptDate, in: environment) : nil
    }
}
