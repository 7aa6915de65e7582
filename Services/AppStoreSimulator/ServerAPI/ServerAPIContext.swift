import Foundation
import Hummingbird

/// A call of the API: knows which app calls, once its token was checked.
struct ServerAPIContext: RequestContext {
    typealias Source = BasicRequestContext

    var coreContext: CoreRequestContextStorage
    /// Set by the gate.
    var app: AppRecord?

    init(source: BasicRequestContext) {
        coreContext = source.coreContext
    }

    /// The app that calls.
    func caller() throws(APIError) -> AppRecord {
        guard let app else { throw .unauthenticated }
        return app
    }

    /// A part of the path, with `%2F` and the like decoded.
    func pathPart(_ name: String) throws(APIError) -> String {
        guard let part = parameters.get(name)?.removingPercentEncoding, !part.isEmpty else {
            throw .generalBadRequest
        }
        return part
    }
}
