import Hummingbird
import Logging
import NIOCore

/// What belongs to one request.
struct IntakeContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    /// Follows the purchase from this request to the webhook.
    var correlationId = ""
    /// Who may call the route that answers.
    var access = RouteAccess.everybody
    /// Where it came from; nil where that cannot be told.
    var client: ClientAddressReader.Client?
    /// The connection that the request came by.
    let channel: any Channel

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
    }
}
