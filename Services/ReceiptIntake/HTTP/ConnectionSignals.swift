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

    private let states = Mutex<[ObjectIdentifier: State]>([:])

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

    /// The connection behind a channel; one that never was announced is never seen to close.
    func connection(of channel: any Channel) -> Connection {
        Connection(signals: self, identifier: ObjectIdentifier(channel))
    }

    /// A handler for the pipeline of a new connection.
    func makeHandler() -> some RemovableChannelHandler {
        ConnectionCloseHandler(signals: self)
    }

    fileprivate func opened(_ channel: any Channel) {
        states.withLock { $0[ObjectIdentifier(channel)] = .open(nil) }
    }

    fileprivate func inputClosed(_ channel: any Channel) {
        let action: (@Sendable () -> Void)? = states.withLock { states in
            guard case .open(let action) = states.updateValue(.closed, forKey: ObjectIdentifier(channel)) else {
                return nil
            }
            return action
        }
        action?()
    }

    fileprivate func ended(_ channel: any Channel) {
        inputClosed(channel)
        states.withLock { $0[ObjectIdentifier(channel)] = nil }
    }

    private func watch(_ identifier: ObjectIdentifier, _ action: (@Sendable () -> Void)?) {
        let isClosed = states.withLock { states in
            switch states[identifier] {
            case .open:
                states[identifier] = .open(action)
                return false
            case .closed: return true
            case nil: return false
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
