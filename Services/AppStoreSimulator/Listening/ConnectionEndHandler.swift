import NIOCore

/// Ends connections that nothing else would end.
///
/// One that is still busy some time after the server was told to stop: a client that dribbles its request, or does not
/// read its answer, cannot hold the process back. And one that is left hanging on purpose, once its client has hung up.
final class ConnectionEndHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny

    private var deadline: Scheduled<Void>?
    private var hasHungUp = false
    private var dropsAtHangUp = false

    /// Drops the connection when the client closes its side, at once if it has; on the channel's event loop only.
    ///
    /// Everybody else may close its sending side and still get its answer.
    func dropAtHangUp(_ channel: any Channel) {
        dropsAtHangUp = true
        if hasHungUp { RequestConnection.drop(channel, reset: false) }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        let channel = context.channel
        if event is ChannelShouldQuiesceEvent, deadline == nil {
            deadline = context.eventLoop.scheduleTask(in: .seconds(ConnectionServer.Limit.stopSeconds)) {
                RequestConnection.drop(channel, reset: false)
            }
        } else if case .some(.inputClosed) = event as? ChannelEvent {
            hasHungUp = true
            if dropsAtHangUp { RequestConnection.drop(channel, reset: false) }
        }
        context.fireUserInboundEventTriggered(event)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        deadline?.cancel()
    }
}
