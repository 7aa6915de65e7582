import NIOCore
import Synchronization

/// Tells a waiting request that its client has hung up, so that it does not wait for nobody.
///
/// The server lets clients close their sending side and still get their answer; so the request is not torn down, but
/// answered at once with what is known.
final class ConnectionSignals: Sendable {
    private enum State {
        case open((@Sendable () -> Void)?)
        case closed
    }

    private struct Announced {
        /// Those that have not ended.
        var states: [ObjectIdentifier: State] = [:]
        var isAny = false
    }

    private let announced = Mutex(Announced())

    /// The connection of one request.
    struct Connection: Sendable {
        fileprivate let signals: ConnectionSignals
        fileprivate let identifier: ObjectIdentifier

        /// Has `action` called once the client hangs up, at once if it has.
        ///
        /// A connection serves one request at a time.
        func onClose(_ action: @escaping @Sendable () -> Void) {
            signals.watch(identifier, action)
        }

        /// Takes the action back.
        func forget() {
            signals.watch(identifier, nil)
        }
    }

    /// The connection behind a channel; where none is ever announced, as in a router without a server, none is seen to close.
    func connection(of channel: any Channel) -> Connection {
        Connection(signals: self, identifier: ObjectIdentifier(channel))
    }

    /// A handler for the pipeline of a new connection.
    func makeHandler() -> some RemovableChannelHandler {
        ConnectionCloseHandler(signals: self)
    }

    fileprivate func opened(_ channel: any Channel) {
        announced.withLock { announced in
            announced.states[ObjectIdentifier(channel)] = .open(nil)
            announced.isAny = true
        }
    }

    fileprivate func inputClosed(_ channel: any Channel) {
        let action: (@Sendable () -> Void)? = announced.withLock { announced in
            let before = announced.states.updateValue(.closed, forKey: ObjectIdentifier(channel))
            guard case .open(let action) = before else { return nil }
            return action
        }
        action?()
    }

    fileprivate func ended(_ channel: any Channel) {
        inputClosed(channel)
        announced.withLock { $0.states[ObjectIdentifier(channel)] = nil }
    }

    private func watch(_ identifier: ObjectIdentifier, _ action: (@Sendable () -> Void)?) {
        let isClosed = announced.withLock { announced in
            switch announced.states[identifier] {
            case .open:
                announced.states[identifier] = .open(action)
                return false
            case .closed: return true
            // It has ended already, for instance during the commit.
            case nil: return announced.isAny
            }
        }
        if isClosed { action?() }
    }
}

/// Sees in a connection's pipeline when the client closes its side, and passes everything on.
private final class ConnectionCloseHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny

    private let signals: ConnectionSignals

    init(signals: ConnectionSignals) {
        self.signals = signals
    }

    func handlerAdded(context: ChannelHandlerContext) {
        signals.opened(context.channel)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        signals.ended(context.channel)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .some(.inputClosed) = event as? ChannelEvent { signals.inputClosed(context.channel) }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        signals.ended(context.channel)
        context.fireChannelInactive()
    }
}
