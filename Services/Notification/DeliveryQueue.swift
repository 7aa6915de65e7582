import Persistence
import Synchronization

/// What a delivery is found by.
struct Telling: Hashable {
    let eventId: String
    let endpointId: String
}

/// A delivery that this process has leased, or whose event it has claimed, with all that its attempt needs.
struct LeasedDelivery: Sendable {
    let due: DeliveryStore.Due
    let endpoint: WebhookEndpoint
    /// W3C trace context of the request that led to the event.
    let traceParent: String?
    /// Before the lease began.
    let leasedAt: ContinuousClock.Instant
    /// Of an event that is posted first; nil where the delivery has a row, which is leased.
    var claim: EventClaim?
}

/// Who may begin attempts: the take-over for new events and the loop for what is due share its room, and hand it what is
/// to be attempted.
///
/// The hand-over is bounded: each delivery in it holds room, which is its attempt's until that has ended.
final class DeliveryQueue: Sendable {
    /// Ended attempts that are not recorded yet; with as many, which only a failing database leaves, nothing begins.
    private static let unrecordedMaximum = 1_024

    /// What is to be attempted, for one reader; it ends with ``close()``.
    let deliveries: AsyncStream<LeasedDelivery>
    private let continuation: AsyncStream<LeasedDelivery>.Continuation
    private let board: Mutex<DeliveryBoard>
    private let inbox: DeliveryInbox
    private let clock = ContinuousClock()

    private let report: AttemptReport?

    /// - Parameters:
    ///   - inbox: is told of what the loop must know.
    ///   - report: is told which endpoints are left alone.
    init(settings: DeliverySettings, inbox: DeliveryInbox, report: AttemptReport? = nil) {
        (deliveries, continuation) = AsyncStream.makeStream()
        board = Mutex(
            DeliveryBoard(
                perEndpointMaximum: settings.concurrencyPerEndpoint, maximum: settings.concurrencyMaximum,
                unrecordedMaximum: Self.unrecordedMaximum, breaker: settings.breaker))
        self.inbox = inbox
        self.report = report
    }

    /// Looks at the board, or changes it; the body must be short.
    func withBoard<Value: Sendable>(_ body: (inout DeliveryBoard) -> Value) -> Value {
        board.withLock { body(&$0) }
    }

    /// Takes room for attempts of new events, one for each of these ids of endpoints as far as there is any.
    ///
    /// - Returns: which have room; each of them is to be begun or given back.
    func reserve(_ endpointIds: [String]) -> [Bool] {
        let now = clock.now
        return withBoard { board in endpointIds.map { board.reserve($0, now: now) } }
    }

    /// Gives back room that was reserved and not used, for one attempt to each of these.
    func giveBack(_ endpointIds: [String]) {
        guard !endpointIds.isEmpty else { return }
        withBoard { board in
            for id in endpointIds { board.finished(id, isRecorded: true) }
        }
        inbox.ring()
    }

    /// Attempts deliveries that have room.
    func begin(_ deliveries: [LeasedDelivery]) {
        for delivery in deliveries { continuation.yield(delivery) }
    }

    /// Endpoints have something due.
    func look(at endpointIds: Set<String>) {
        guard !endpointIds.isEmpty else { return }
        withBoard { $0.look(at: endpointIds) }
        inbox.ring()
    }

    /// An attempt has ended.
    ///
    /// - Parameter attempt: nil when it was not made.
    func finished(_ delivery: LeasedDelivery, _ attempt: DeliveryInbox.Attempt?) {
        let id = delivery.endpoint.id
        let verdict = attempt?.verdict
        // First the news, then the room: a loop that sees an idle board has all the news.
        if let attempt {
            inbox.add(.init(delivery, attempt))
        }
        let now = clock.now
        let isBroken = withBoard { board -> Bool? in
            board.finished(id, isRecorded: verdict == nil)
            if let pause = verdict?.pause { board.pause(id, until: now + pause) }
            return verdict.flatMap { board.note(id, succeeded: $0.isSuccess, now: now) }
        }
        if let isBroken { report?.breaker(id, isOpen: isBroken) }
        inbox.ring()
    }

    /// Nothing more is handed over.
    func close() {
        continuation.finish()
    }
}
