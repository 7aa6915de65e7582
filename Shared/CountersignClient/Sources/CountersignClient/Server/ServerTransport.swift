#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// How requests reach the server: ``URLSessionTransport``, or the app's own HTTP client.
public protocol ServerTransport: Sendable {
    /// Sends one request and reads the whole answer, whatever its status is.
    ///
    /// It follows no redirect, stores nothing and retries nothing: the queue does. It ends when the task is cancelled.
    ///
    /// - Throws: any error where there was no answer; the queue then tries again later.
    func send(_ request: ServerRequest) async throws -> ServerAnswer

    /// Sends a request whose answer goes on for hours (server-sent events), and gives its lines as they come.
    ///
    /// The stream ends with the answer, and the answer when nobody reads the stream any more. Its timeout is how long nothing
    /// may come.
    ///
    /// - Returns: the lines; nil where this transport has no such thing, and the queue asks by ``send(_:)`` instead.
    /// - Throws: ``ServerAnswerError/refused(status:)`` for every other status than 200, and any error where there was no answer.
    func lines(_ request: ServerRequest) async throws -> AsyncThrowingStream<String, any Error>?
}

extension ServerTransport {
    /// None: a client of your own needs no more than ``send(_:)``.
    public func lines(_ request: ServerRequest) async throws -> AsyncThrowingStream<String, any Error>? { nil }
}

/// A request to the server.
public struct ServerRequest: Sendable, Hashable {
    /// `GET` or `POST`.
    public var method: String
    /// Where to.
    public var url: URL
    /// Header fields by their names in lower case.
    ///
    /// One of them is the player's token: keep them out of logs.
    public var headers: [String: String]
    /// The body; nil for none.
    public var body: Data?
    /// How long to wait for the whole answer, in seconds.
    public var timeout: Double
    /// How many bytes the answer may have; a longer one is an error.
    public var answerMaximum: Int

    /// A request.
    public init(
        method: String, url: URL, headers: [String: String], body: Data?, timeout: Double, answerMaximum: Int
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.timeout = timeout
        self.answerMaximum = answerMaximum
    }
}

/// The server's answer.
public struct ServerAnswer: Sendable, Hashable {
    /// The HTTP status.
    public var status: Int
    /// Header fields by their names in lower case.
    public var headers: [String: String]
    /// The body.
    public var body: Data

    /// An answer.
    public init(status: Int, headers: [String: String] = [:], body: Data = Data()) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}

/// Who may speak for an account: the app's log-in.
public protocol PlayerCredentials: Sendable {
    /// The account's token (a JWT whose `sub` is the account); nil where nobody is logged in as that account now.
    ///
    /// Nil or an error lets purchases of the account wait. The queue never logs anybody out or in.
    ///
    /// - Parameter isRefreshing: true when the server refused the last one: get a new one.
    /// - Throws: any error, most often because there is no network.
    func token(of account: String, isRefreshing: Bool) async throws -> String?
}
