import HTTPTypes
import Hummingbird
import NIOCore

/// An answer that is given instead of the right one.
struct FaultAnswer: Sendable {
    /// What stands in `Retry-After`.
    enum RetryAfter: Sendable {
        case literal(String)
        /// Milliseconds from now, written as UNIX time in milliseconds (apple-facts C3).
        case ahead(Int64)
    }

    enum Default {
        /// How far ahead the `Retry-After` of a 429 is, in milliseconds.
        static let retryAfter: Int64 = 60_000
    }

    let status: HTTPResponse.Status
    let body: FaultBody
    let errorCode: Int64?
    let errorMessage: String?
    let retryAfter: RetryAfter?

    static let unauthorized = FaultAnswer(
        status: .unauthorized, body: .json, errorCode: nil, errorMessage: nil, retryAfter: nil)

    /// The answer to a request for `path`, at a real instant in milliseconds since 1970.
    func response(path: String, now: Int64) -> Response {
        var headers = HTTPFields()
        switch retryAfter {
        case .literal(let value): headers[.retryAfter] = value
        case .ahead(let milliseconds): headers[.retryAfter] = String(now + milliseconds)
        case nil: break
        }
        let text: String
        switch body {
        case .empty:
            text = ""
        case .htmlPage:
            headers[.contentType] = "text/html; charset=UTF-8"
            text = htmlPage
        case .json where status == .unauthorized && errorCode == nil && !Self.isVerifyReceipt(path):
            // Apple's 401 has no number (apple-facts C4).
            headers[.contentType] = "text/plain"
            text = "Unauthenticated\n"
        case .json:
            headers[.contentType] = "application/json"
            text = Self.isVerifyReceipt(path) ? receiptJSON : errorJSON
        }
        return Response(
            status: status, headers: headers, body: text.isEmpty ? .init() : .init(byteBuffer: ByteBuffer(string: text))
        )
    }

    private static func isVerifyReceipt(_ path: String) -> Bool {
        EndpointGroup.verifyReceipt.contains(path: path)
    }

    private var errorJSON: String {
        let (code, message): (Int64, String) =
            switch status.code {
            case 429: (4_290_000, "Rate limit exceeded.")
            case 500: (5_000_000, "An unknown error occurred.")
            case 501...: (5_000_001, "An unknown error occurred. Please try again.")
            default: (Int64(status.code) * 10_000, status.reasonPhrase)
            }
        var json = JSONText()
        json.add("errorCode", errorCode ?? code)
        json.add("errorMessage", errorMessage ?? message)
        return json.object
    }

    /// `verifyReceipt` tells by its own numbers: 21005, the server is temporarily not available (apple-facts C10).
    private var receiptJSON: String {
        var json = JSONText()
        json.add("status", errorCode ?? 21_005)
        return json.object
    }

    /// What a proxy in front of the API shows when there is nothing behind it.
    private var htmlPage: String {
        let title = "\(status.code) \(status.reasonPhrase)"
        return """
            <!DOCTYPE html>
            <html><head><title>\(title)</title></head>
            <body><center><h1>\(title)</h1></center><hr><center>Simulated</center></body></html>

            """
    }
}
