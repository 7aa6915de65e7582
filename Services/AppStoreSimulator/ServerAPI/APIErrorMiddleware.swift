import HTTPTypes
import Hummingbird
import Logging

/// Turns whatever a call of the API throws into Apple's form of an error.
struct APIErrorMiddleware: RouterMiddleware {
    typealias Context = ServerAPIContext

    func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch let error as APIError {
            return error.response(from: request, context: context)
        } catch let problem as Problem where problem.status == .notFound {
            return APIError.transactionIdNotFound.response(from: request, context: context)
        } catch let problem as Problem where problem.status.code < 500 {
            return APIError.generalBadRequest.response(from: request, context: context)
        } catch let error as HTTPError where error.status.code < 500 {
            return APIError.generalBadRequest.response(from: request, context: context)
        } catch {
            context.logger.error("request failed", metadata: ["error": "\(error)"])
            return APIError.generalInternal.response(from: request, context: context)
        }
    }
}
