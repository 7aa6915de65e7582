import HTTPTypes
import Hummingbird
import NIOCore

/// A refusal as the App Store Server API words it: `{"errorCode":4040010,"errorMessage":"Transaction id not found."}`.
///
/// The codes and messages are Apple's (apple-facts C4). A 401 has neither: its body is plain text.
struct APIError: HTTPResponseError, Equatable {
    let status: HTTPResponse.Status
    /// Apple's seven digits; nil for the plain 401.
    let errorCode: Int64?
    let errorMessage: String
    /// When the next request may be sent: UNIX time in milliseconds, as Apple's `Retry-After` has it.
    var retryAfter: Int64?

    init(_ status: HTTPResponse.Status, _ errorCode: Int64?, _ errorMessage: String) {
        self.status = status
        self.errorCode = errorCode
        self.errorMessage = errorMessage
    }

    func response(from request: Request, context: some RequestContext) -> Response {
        var headers: HTTPFields = [:]
        if let retryAfter { headers[.retryAfter] = String(retryAfter) }
        guard let errorCode else {
            headers[.contentType] = "text/plain"
            return Response(
                status: status, headers: headers, body: .init(byteBuffer: ByteBuffer(string: errorMessage + "\n")))
        }
        // Apple's libraries compare the content type as a whole: no character set after it.
        headers[.contentType] = "application/json"
        var json = JSONText()
        json.add("errorCode", errorCode)
        json.add("errorMessage", errorMessage)
        return Response(status: status, headers: headers, body: .init(byteBuffer: ByteBuffer(string: json.object)))
    }

    /// Whether both refuse for the same reason.
    static func == (left: APIError, right: APIError) -> Bool {
        left.status == right.status && left.errorCode == right.errorCode
    }
}

extension APIError {
    /// The token in the authorization header is not accepted.
    static let unauthenticated = APIError(.unauthorized, nil, "Unauthenticated")

    /// Too many calls.
    ///
    /// - Parameter retryAfter: UNIX time in milliseconds.
    static func rateLimitExceeded(retryAfter: Int64) -> APIError {
        var error = APIError(.tooManyRequests, 4_290_000, "Rate limit exceeded.")
        error.retryAfter = retryAfter
        return error
    }

    // MARK: The server

    static let generalInternal = APIError(.internalServerError, 5_000_000, "An unknown error occurred.")

    // MARK: Nothing there

    static let accountNotFound = APIError(.notFound, 4_040_001, "Account not found.")
    static let originalTransactionIdNotFound = APIError(
        .notFound, 4_040_005, "Original transaction id not found.")
    static let serverNotificationURLNotFound = APIError(
        .notFound, 4_040_007,
        "No App Store Server Notification URL found for provided app. "
            + "Check that a URL is configured in App Store Connect for this environment.")
    static let testNotificationNotFound = APIError(
        .notFound, 4_040_008,
        "Either the test notification token is expired or the notification and status are not yet available.")
    static let statusRequestNotFound = APIError(
        .notFound, 4_040_009,
        "The server didn't find a subscription-renewal-date extension request for this requestIdentifier and productId "
            + "combination.")
    static let transactionIdNotFound = APIError(.notFound, 4_040_010, "Transaction id not found.")
    static let appTransactionDoesNotExist = APIError(
        .notFound, 4_040_019, "No AppTransaction exists for the customer.")

    // MARK: Not allowed

    static let subscriptionExtensionIneligible = APIError(
        .forbidden, 4_030_004, "Forbidden - subscription state ineligible for extension.")
    static let subscriptionMaxExtension = APIError(
        .forbidden, 4_030_005, "Forbidden - subscription has reached maximum extension count.")
    static let familySharedSubscriptionExtensionIneligible = APIError(
        .forbidden, 4_030_007,
        "Subscriptions that users obtain through Family Sharing can't get a renewal date extension directly.")
}
