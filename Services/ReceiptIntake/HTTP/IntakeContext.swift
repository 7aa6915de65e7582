import Hummingbird
import Logging
import NIOCore

/// What belongs to one request.
struct IntakeContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    /// The version of the API that the request wants.
    var version = APIVersion.oldest
    /// Follows the purchase from this request to the webhook.
    var correlationId = ""
    /// Who may call the route that answers.
    var access = RouteAccess.everybody
    /// Who sends it, where that was asked before the route's own handler.
    var callers: ProvenCallers?
    /// Takes down whom the answer tells of; nil where nobody of the staff looks.
    var seen: SeenSubjects?
    /// Where it came from; nil where that cannot be told.
    var client: ClientAddressReader.Client?
    /// The connection that the request came by.
    let channel: any Channel

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
    }
}
