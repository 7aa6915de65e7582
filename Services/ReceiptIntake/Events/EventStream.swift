import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import Metrics
import NIOCore
import Persistence
import ServiceLifecycle
import ServiceRuntime

/// One account's events as server-sent events, until the reader goes, falls behind, or may not read them any more.
///
/// Source: the HTML standard, section 9.2. `id:` is a cursor, with which a browser comes back by itself.
struct EventStream: Sendable {
    struct Pace: Sendable {
        /// A line at least so often, so that proxies and readers know that the connection is alive; the credentials are checked then.
        let heartbeat: Duration
        /// A reader that does not take what is written for so long is dropped; what it missed it reads by its cursor.
        let writing: Duration
        /// Events that are read and written at a time: the most that waits for a slow reader, beside the socket's buffers.
        static let events = 50
        /// After how many milliseconds a reader comes back.
        static let retryMilliseconds = 2_000
    }

    /// Why a stream ended; a label of its counter.
    private enum End: String {
        case closed, stopping, credentials, expired, unread, failed
    }

    let pace: Pace
    let reading: EventReading
    let query: EventQuery
    let caller: Caller
    /// What was read before the answer began.
    let first: EventFeedStore.Page
    /// Whether the caller may still read.
    let isAllowed: @Sendable () async -> Bool
    let channel: any Channel
    let connection: ConnectionSignals.Connection?
    let place: EventStreamPlaces.Place
    let logger: Logger

    /// The answer.
    func response() -> Response {
        let stream = self
        return Response(
            status: .ok,
            headers: [
                .contentType: "text/event-stream", .cacheControl: "no-store", Self.buffering: "no",
            ],
            body: ResponseBody { writer in try await stream.run(&writer) })
    }

    /// Proxies of nginx's kind hand each event on at once.
    private static let buffering = HTTPField.Name.accelBuffering

    @inline(never)
    private func run(_ writer: inout any ResponseBodyWriter) async throws {
        // Given back when the answer is over, whoever else still holds the response.
        defer { withExtendedLifetime(place) {} }
        let end: End
        do {
            try await write("retry: \(Pace.retryMilliseconds)\n\n", &writer)
            end = try await follow(&writer)
        } catch {
            Self.ended(.unread)
            throw error
        }
        Self.ended(end)
        try await writer.finish(nil)
    }

    @inline(never)
    private func follow(_ writer: inout any ResponseBodyWriter) async throws -> End {
        var page = first
        var checked = ContinuousClock.now
        while true {
            try await write(page, &writer)
            if ContinuousClock.now - checked >= pace.heartbeat {
                guard await isAllowed() else { return .credentials }
                checked = .now
                // The cursor moves on where nothing comes, so that it does not grow old.
                if page.events.isEmpty { try await write("id: \(EventCursor.text(page.next))\n:\n\n", &writer) }
            }
            if !page.isMore {
                switch await reading.tail.wait(
                    for: query.filter, after: page.next, within: pace.heartbeat, connection: connection)
                {
                case .arrival, .time: break
                case .closed: return .closed
                case .stopping: return .stopping
                case .full: try await Task.sleep(for: EventReading.Limit.pause)
                }
            }
            if Task.isShuttingDownGracefully { return .stopping }
            do {
                page = PlayerEvent.page(
                    try await reading.nextPage(query, after: page.next, for: caller), for: caller, logger: logger)
            } catch let problem as ProblemDetails where problem == .cursorExpired {
                return .expired
            } catch {
                // The reader comes back in a moment, to another process perhaps.
                logger.debug("a stream of events ends", metadata: .fields([.error: "\(error)"]))
                return .failed
            }
        }
    }

    @inline(never)
    private func write(_ page: EventFeedStore.Page, _ writer: inout any ResponseBodyWriter) async throws {
        guard !page.events.isEmpty else { return }
        var text = ""
        for event in page.events {
            text += "id: \(EventCursor.text(event.position))\ndata: \(event.body)\n\n"
        }
        try await write(text, &writer)
    }

    /// Writes, and has the connection closed where the reader does not take it in time.
    @inline(never)
    private func write(_ text: String, _ writer: inout any ResponseBodyWriter) async throws {
        let channel = channel
        let limit = channel.eventLoop.scheduleTask(in: TimeAmount(pace.writing)) { channel.close(promise: nil) }
        defer { limit.cancel() }
        try await writer.write(ByteBuffer(string: text))
    }

    private static func ended(_ end: End) {
        Counter(label: "countersign_event_streams_ended", dimensions: [("reason", end.rawValue)]).increment()
    }
}
