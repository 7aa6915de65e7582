import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Reads an answer that goes on, line by line, in a session of its own.
// Safety: all properties are used with the lock held.
final class LineReader: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    /// How many lines wait for a slow reader; then the oldest go.
    private static let waitingMaximum = 1_000

    private let lock = NSLock()
    private let stream: AsyncThrowingStream<String, any Error>
    private let continuation: AsyncThrowingStream<String, any Error>.Continuation
    private let maximum: Int
    /// Who waits for the answer's beginning.
    private var begin: CheckedContinuation<Void, any Error>?
    private var rest: [UInt8] = []

    /// - Parameter maximum: how many bytes a line may have; a longer one ends the answer.
    init(maximum: Int) {
        self.maximum = maximum
        (stream, continuation) = AsyncThrowingStream.makeStream(bufferingPolicy: .bufferingNewest(Self.waitingMaximum))
    }

    /// Starts the task, and gives its lines once the answer has begun.
    ///
    /// - Throws: `URLError`, `ServerAnswerError`.
    func lines(of task: URLSessionDataTask) async throws -> AsyncThrowingStream<String, any Error> {
        let holder = TaskHolder()
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                lock.withLock { begin = continuation }
                holder.start(task)
            }
        } onCancel: {
            holder.cancel()
        }
        continuation.onTermination = { _ in holder.cancel() }
        return stream
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        let status = (response as? HTTPURLResponse)?.statusCode
        guard status == 200 else {
            end(status.map { ServerAnswerError.refused(status: $0) } ?? ServerAnswerError.notHTTP)
            return completionHandler(.cancel)
        }
        takeBegin()?.resume()
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        let (lines, length) = lock.withLock {
            rest += data
            let parts = rest.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            rest = parts.last.map(Array.init) ?? []
            return (parts.dropLast().map { String(decoding: $0, as: UTF8.self) }, rest.count)
        }
        for line in lines { continuation.yield(line) }
        guard length > maximum else { return }
        end(ServerAnswerError.tooLong(bytes: length))
        dataTask.cancel()
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        end(error)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }

    private func end(_ error: (any Error)?) {
        takeBegin()?.resume(throwing: error ?? ServerAnswerError.notHTTP)
        continuation.finish(throwing: error)
    }

    private func takeBegin() -> CheckedContinuation<Void, any Error>? {
        lock.withLock {
            defer { begin = nil }
            return begin
        }
    }
}
