import Synchronization

/// Holds up the lookups while Apple's main host is away: what is not handed over burns no attempt and no budget.
///
/// What it opens and closes is made after those who tell it to.
final class LookupGate: Sendable {
    private struct State {
        var isClosed = false
        var onChange: (@Sendable (_ isClosed: Bool) -> Void)?
    }

    private let state = Mutex(State())

    /// Says what is to be done at changes; told at once when it is closed already.
    func attach(_ onChange: @escaping @Sendable (_ isClosed: Bool) -> Void) {
        let isClosed = state.withLock { state in
            state.onChange = onChange
            return state.isClosed
        }
        if isClosed { onChange(true) }
    }

    /// Closes or opens it.
    func set(isClosed: Bool) {
        let onChange = state.withLock { state in
            state.isClosed = isClosed
            return state.onChange
        }
        onChange?(isClosed)
    }

    /// Whether lookups wait.
    var isClosed: Bool { state.withLock { $0.isClosed } }
}
