import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOSSL

/// Apple's `sendAttemptResult` (apple-facts C7): what came of an attempt to deliver a notification.
enum SendAttemptResult: String, Sendable, CaseIterable {
    case success = "SUCCESS"
    case timedOut = "TIMED_OUT"
    case tlsIssue = "TLS_ISSUE"
    case circularRedirect = "CIRCULAR_REDIRECT"
    case noResponse = "NO_RESPONSE"
    case socketIssue = "SOCKET_ISSUE"
    case unsupportedCharset = "UNSUPPORTED_CHARSET"
    case invalidResponse = "INVALID_RESPONSE"
    case prematureClose = "PREMATURE_CLOSE"
    case unsuccessfulStatus = "UNSUCCESSFUL_HTTP_RESPONSE_CODE"
    case other = "OTHER"

    /// The result that an error of the HTTP client amounts to.
    ///
    /// - Parameter hasHead: whether the status and the headers had arrived.
    init(of error: any Error, hasHead: Bool) {
        switch error {
        case let error as HTTPClientError: self = Self.result(of: error, hasHead: hasHead)
        case HTTPParserError.invalidEOFState: self = .prematureClose
        case is HTTPParserError, is NIOTooManyBytesError: self = .invalidResponse
        case is NIOSSLError, is BoringSSLError, is NIOSSLExtraError: self = .tlsIssue
        case is IOError, is ChannelError: self = .socketIssue
        default: self = Self.isConnectionError(error) ? .socketIssue : .other
        }
    }

    private static func result(of error: HTTPClientError, hasHead: Bool) -> SendAttemptResult {
        switch error {
        case .readTimeout, .writeTimeout, .connectTimeout, .deadlineExceeded, .getConnectionFromPoolTimeout: .timedOut
        case .tlsHandshakeTimeout: .tlsIssue
        case .redirectCycleDetected, .redirectLimitReached: .circularRedirect
        case .remoteConnectionClosed: hasHead ? .prematureClose : .noResponse
        case .uncleanShutdown: .prematureClose
        default: .other
        }
    }

    /// SwiftNIO's error for a connection that could not be made lives in a module that is not ours to import.
    private static func isConnectionError(_ error: any Error) -> Bool {
        "\(type(of: error))" == "NIOConnectionError"
    }

    /// Whether an answer's text is in a character set that is known, or says nothing of it.
    static func isReadable(_ headers: HTTPHeaders) -> Bool {
        guard let type = headers.first(name: "content-type")?.lowercased(),
            let parameter = type.split(separator: ";").dropFirst().lazy
                .map({ $0.trimmingPrefix(while: \.isWhitespace) }).first(where: { $0.hasPrefix("charset=") })
        else { return true }
        let name = parameter.dropFirst("charset=".count).filter { $0 != "\"" && !$0.isWhitespace }
        return name.isEmpty || charsets.contains { name.hasPrefix($0) }
    }

    /// What names of character sets begin with.
    private static let charsets = [
        "utf", "us-ascii", "ascii", "iso-8859-", "windows-", "shift_jis", "euc-", "iso-2022-", "gb", "big5", "koi8-",
    ]
}
