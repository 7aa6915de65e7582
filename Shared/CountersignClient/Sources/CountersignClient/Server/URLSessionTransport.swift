#if canImport(FoundationNetworking)
    import Foundation
    public import FoundationNetworking
#else
    public import Foundation
#endif

/// The platform's HTTP: `URLSession`, without cookies, caches and redirects.
public final class URLSessionTransport: ServerTransport {
    private let session: URLSession

    /// A transport with a session of its own.
    ///
    /// - Parameter configuration: for proxies, pinning and the like. Cookies, caches and stored credentials are turned off in it.
    public init(configuration: URLSessionConfiguration = .ephemeral) {
        configuration.httpCookieStorage = nil
        configuration.httpShouldSetCookies = false
        configuration.urlCache = nil
        configuration.urlCredentialStorage = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        session = URLSession(configuration: configuration, delegate: NoRedirects(), delegateQueue: nil)
    }

    deinit {
        session.finishTasksAndInvalidate()
    }

    /// Sends one request.
    ///
    /// - Throws: `URLError`, or `ServerAnswerError` for an answer that is too long or no HTTP.
    public func send(_ request: ServerRequest) async throws -> ServerAnswer {
        let (body, response) = try await data(for: URLRequest(request))
        guard let response = response as? HTTPURLResponse else { throw ServerAnswerError.notHTTP }
        guard body.count <= request.answerMaximum else { throw ServerAnswerError.tooLong(bytes: body.count) }
        var headers: [String: String] = [:]
        for (name, value) in response.allHeaderFields {
            headers["\(name)".lowercased()] = "\(value)"
        }
        return ServerAnswer(status: response.statusCode, headers: headers, body: body)
    }

    /// Sends a request whose answer goes on.
    ///
    /// - Throws: `URLError`, or `ServerAnswerError` for another status than 200.
    public func lines(_ request: ServerRequest) async throws -> AsyncThrowingStream<String, any Error>? {
        let reader = LineReader(maximum: request.answerMaximum)
        // A session of its own: on Linux a task has no delegate.
        let session = URLSession(configuration: session.configuration, delegate: reader, delegateQueue: nil)
        // Of its one task.
        defer { session.finishTasksAndInvalidate() }
        return try await reader.lines(of: session.dataTask(with: URLRequest(request)))
    }

    // `data(for:)` is not in Foundation on Linux.
    private func data(for request: URLRequest) async throws -> (Data, URLResponse) {
        let holder = TaskHolder()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let task = session.dataTask(with: request) { data, response, error in
                    if let data, let response, error == nil {
                        continuation.resume(returning: (data, response))
                    } else {
                        continuation.resume(throwing: error ?? ServerAnswerError.notHTTP)
                    }
                }
                holder.start(task)
            }
        } onCancel: {
            holder.cancel()
        }
    }
}

/// An answer that cannot be used.
public enum ServerAnswerError: Error, Sendable, Hashable {
    /// It has more bytes than the request allows.
    case tooLong(bytes: Int)
    /// It is none of HTTP.
    case notHTTP
    /// It has this status where only 200 goes on.
    case refused(status: Int)
}

/// Answers a redirect by itself: a token goes to the configured server and to no other.
private final class NoRedirects: NSObject, URLSessionTaskDelegate {
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }
}

extension URLRequest {
    fileprivate init(_ request: ServerRequest) {
        self.init(url: request.url, timeoutInterval: request.timeout)
        httpMethod = request.method
        for (name, value) in request.headers { setValue(value, forHTTPHeaderField: name) }
        httpBody = request.body
    }
}

/// The task of a request, which may be cancelled before it is there.
// Safety: both properties are used with the lock held.
final class TaskHolder: @unchecked Sendable {
    private let lock = NSLock()
    private var task: URLSessionTask?
    private var isCancelled = false

    func start(_ task: URLSessionTask) {
        lock.lock()
        self.task = task
        let isCancelled = isCancelled
        lock.unlock()
        task.resume()
        if isCancelled { task.cancel() }
    }

    func cancel() {
        lock.lock()
        isCancelled = true
        let task = task
        lock.unlock()
        task?.cancel()
    }
}
