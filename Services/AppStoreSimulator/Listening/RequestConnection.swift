import NIOCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The connection that the current task answers on: what a fault needs to end it rudely.
///
/// ``ConnectionServer`` binds it around each request; a router that is driven without a socket has none.
struct RequestConnection: Sendable {
    @TaskLocal static var current: RequestConnection?

    private let channel: any Channel

    init(_ channel: any Channel) {
        self.channel = channel
    }

    /// Ends the connection with a TCP reset and returns when it has ended: what was not sent is never sent.
    func reset() async {
        Self.drop(channel, reset: true)
        try? await channel.closeFuture.get()
    }

    /// Ends the connection at once, without an answer.
    func end() {
        Self.drop(channel, reset: false)
    }

    /// Leaves the connection without an answer until the client hangs up or the time is over; then it has ended.
    func hang(for time: TimeAmount) async {
        let channel = channel
        channel.eventLoop.execute {
            try? channel.pipeline.syncOperations.handler(type: ConnectionEndHandler.self).dropAtHangUp(channel)
        }
        let limit = channel.eventLoop.scheduleTask(in: time) { Self.drop(channel, reset: false) }
        try? await channel.closeFuture.get()
        limit.cancel()
    }

    /// Ends a connection without a farewell.
    ///
    /// - Parameter reset: whether the client sees a reset and not an orderly end.
    static func drop(_ channel: any Channel, reset: Bool) {
        channel.eventLoop.execute {
            if reset, let socket = channel as? any SocketOptionProvider {
                // With no time to linger, closing a socket resets the connection (socket(7), SO_LINGER).
                _ = socket.setSoLinger(linger(l_onoff: 1, l_linger: 0))
            }
            channel.close(promise: nil)
        }
    }
}
