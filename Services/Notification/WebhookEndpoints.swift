import Synchronization

/// The endpoints that are told of events; the webhooks file may name others at any time.
final class WebhookEndpoints: Sendable {
    private let endpoints: Mutex<[WebhookEndpoint]>

    /// - Parameter endpoints: with different ids.
    init(_ endpoints: [WebhookEndpoint]) {
        self.endpoints = Mutex(endpoints)
    }

    /// All of them, in the file's order.
    var all: [WebhookEndpoint] { endpoints.withLock { $0 } }

    /// Tells these from now on; what is being sent is sent to its end.
    func use(_ endpoints: [WebhookEndpoint]) {
        self.endpoints.withLock { $0 = endpoints }
    }
}
