import Synchronization

/// The endpoints that are told of events: those of the webhooks file and those of the database; either may change at any time.
final class WebhookEndpoints: Sendable {
    private struct State {
        var file: [WebhookEndpoint]
        var stored: [WebhookEndpoint] = []
        var all: [WebhookEndpoint]

        /// Puts them together; of two with one name the file's counts.
        mutating func join() {
            let ids = Set(file.map(\.id))
            all = file + stored.filter { !ids.contains($0.id) }
        }
    }

    private let state: Mutex<State>

    /// - Parameter file: those of the webhooks file, with different ids.
    init(_ file: [WebhookEndpoint]) {
        state = Mutex(State(file: file, all: file))
    }

    /// All of them, those of the file first: each takes events.
    var all: [WebhookEndpoint] { state.withLock { $0.all } }

    /// Those that something can be sent to.
    var sendable: [WebhookEndpoint] { all.filter { $0.hold == nil } }

    /// The file has these from now on; what is being sent is sent to its end.
    func use(_ file: [WebhookEndpoint]) {
        state.withLock { state in
            state.file = file
            state.join()
        }
    }

    /// The database has these from now on.
    func use(stored: [WebhookEndpoint]) {
        state.withLock { state in
            state.stored = stored
            state.join()
        }
    }

    /// Ids of the database's endpoints that the file has as well.
    var clashes: [String] {
        state.withLock { state in
            let ids = Set(state.file.map(\.id))
            return state.stored.map(\.id).filter(ids.contains)
        }
    }
}
