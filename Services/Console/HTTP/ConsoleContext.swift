import Hummingbird
import Logging
import NIOCore

/// What belongs to one request.
struct ConsoleContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    /// Who is logged in; nil where nobody is.
    var visit: Visit?
    /// The connection that the request came by.
    let channel: any Channel

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
    }
}
