import HTTPTypes
import Hummingbird
import HummingbirdCore
import Metrics
import ServiceRuntime

/// Tells in every answer which version of the API it is of, and refuses a request that wants one that there is not.
///
/// It stands before `ProblemMiddleware`, so that problems have the header as well.
struct VersionMiddleware: RouterMiddleware {
    func handle(
        _ request: Request, context: IntakeContext, next: (Request, IntakeContext) async throws -> Response
    ) async throws -> Response {
        var context = context
        var response: Response
        let wanted = request.headers[.countersignVersion].map(APIVersion.init(rawValue:)) ?? .oldest
        context.version = wanted ?? .oldest
        if wanted == nil {
            let problem = ProblemDetails.versionUnknown
            Counter(label: "countersign_problems_total", dimensions: [("code", problem.code)]).increment()
            response = try problem.response(from: request, context: context)
            response.headers[.requestId] = context.correlationId
        } else {
            response = try await next(request, context)
        }
        response.headers[.countersignVersion] = context.version.rawValue
        return response
    }
}

extension ProblemDetails {
    static let versionUnknown = ProblemDetails(
        .versionUnknown, "There are \(APIVersion.allCases.map(\.rawValue).joined(separator: " and ")).",
        field: HTTPField.Name.countersignVersion.rawName)
}
