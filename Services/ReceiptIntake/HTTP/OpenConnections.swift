import HTTPTypes
import Metrics
import NIOCore
import NIOHTTPTypes
import Synchronization

/// The connections that are open, and which of them are closed so that there is room for others.
///
/// Whoever opens ten thousand connections and says nothing, or sends a byte a minute, must not shut the door for a player:
/// a request has a time to arrive in, and when there are too many connections, those are closed that have been without a
/// whole request for longest.
final class OpenConnections: Sendable {
    enum Limit {
        /// What is left for connections that are about to be accepted: this part of all.
        static let reserve = 16
        /// What is closed at once when there is no room: this part of all, so that looking for them costs little.
        static let closedAtOnce = 16
    }

    private struct Entry {
        let channel: any Channel
        /// Whether a whole request waits for its answer; then it is not closed.
        var isAnswering = false
        /// Since when it is open, or its last request began or was answered.
        var since: ContinuousClock.Instant
    }

    /// The most connections; the server accepts no more.
    let maximum: Int
    /// From a request's head to the end of its body.
    let requestTime: Duration
    private let entries = Mutex<[ObjectIdentifier: Entry]>([:])

    init(maximum: Int, requestTime: Duration) {
        self.maximum = maximum
        self.requestTime = requestTime
    }

    /// How many are open.
    var count: Int { entries.withLock { $0.count } }

    /// A handler for the pipeline of a new connection.
    func makeHandler() -> some RemovableChannelHandler {
        ConnectionHandler(connections: self)
    }

    fileprivate func opened(_ channel: any Channel) {
        let surplus = entries.withLock { entries -> [any Channel] in
            entries[ObjectIdentifier(channel)] = Entry(channel: channel, since: .now)
            guard entries.count > maximum - maximum / Limit.reserve else { return [] }
            // The longest of all, whether it says nothing or drips a body: a player's request is there within a moment.
            let closable = entries.filter { !$0.value.isAnswering }.sorted { $0.value.since < $1.value.since }
            // A connection of a moment ago is the one that room is made for.
            let closed = closable.prefix(maximum / Limit.closedAtOnce).filter { $0.value.channel !== channel }
            for (identifier, _) in closed { entries[identifier] = nil }
            return closed.map(\.value.channel)
        }
        guard !surplus.isEmpty else { return }
        Self.closed("room").increment(by: surplus.count)
        for channel in surplus { channel.close(promise: nil) }
    }

    fileprivate func changed(_ channel: any Channel, isAnswering: Bool) {
        entries.withLock { entries in
            entries[ObjectIdentifier(channel)]?.isAnswering = isAnswering
            entries[ObjectIdentifier(channel)]?.since = .now
        }
    }

    fileprivate func ended(_ channel: any Channel) {
        entries.withLock { $0[ObjectIdentifier(channel)] = nil }
    }

    fileprivate static func closed(_ reason: String) -> Counter {
        Counter(label: "countersign_connections_closed_total", dimensions: [("reason", reason)])
    }
}

/// Follows one connection's requests, and closes it when one takes too long to arrive.
private final class ConnectionHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private let connections: OpenConnections
    private var isReceiving = false
    private var unanswered = 0
    /// Whether the answer that is being written says that the connection ends with it.
    private var isLast = false
    private var deadline: Scheduled<Void>?

    init(connections: OpenConnections) {
        self.connections = connections
    }

    func handlerAdded(context: ChannelHandlerContext) {
        connections.opened(context.channel)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        end(context.channel)
    }

    func channelInactive(context: ChannelHandlerContext) {
        end(context.channel)
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head:
            isReceiving = true
            unanswered += 1
            connections.changed(context.channel, isAnswering: false)
        case .body: break
        case .end:
            isReceiving = false
            deadline?.cancel()
            deadline = nil
            connections.changed(context.channel, isAnswering: unanswered > 0)
        }
        context.fireChannelRead(data)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        // Most requests have come whole by now, and need no timer.
        if isReceiving, deadline == nil {
            let channel = context.channel
            deadline = context.eventLoop.scheduleTask(in: TimeAmount(connections.requestTime)) {
                OpenConnections.closed("slow_request").increment()
                channel.close(promise: nil)
            }
        }
        context.fireChannelReadComplete()
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(let head): isLast = head.headerFields[.connection] == "close"
        case .body: break
        case .end:
            unanswered -= 1
            // Answered before the body had come, it goes on receiving what nobody reads.
            if unanswered == 0, !isReceiving { connections.changed(context.channel, isAnswering: false) }
            if isLast { return writeLast(context, data, promise) }
        }
        context.write(data, promise: promise)
    }

    /// Writes the end of an answer, and closes the connection: what the client sends meanwhile is not read.
    private func writeLast(_ context: ChannelHandlerContext, _ data: NIOAny, _ promise: EventLoopPromise<Void>?) {
        let channel = context.channel
        let written = promise ?? context.eventLoop.makePromise()
        written.futureResult.whenComplete { _ in channel.close(promise: nil) }
        context.writeAndFlush(data, promise: written)
    }

    private func end(_ channel: any Channel) {
        deadline?.cancel()
        deadline = nil
        connections.ended(channel)
    }
}
