import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1

/// One request and its whole answer, within bounds of time and size.
struct Exchange: Sendable {
    /// An answer whose body was read whole.
    struct Answer: Sendable {
        let status: Int
        let contentType: String
        let retryAfter: String?
        let body: Data

        /// Whether it says that it is JSON.
        var isJSON: Bool {
            let type = contentType.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces)
            return type.lowercased() == "application/json"
        }
    }

    let http: HTTPClient
    let limits: AppStoreServerClient.Limits
    /// When it must be over; nil leaves it its time-out.
    let deadline: ContinuousClock.Instant?

    /// Sends a request, which is over by its deadline whatever the other side does.
    ///
    /// - Throws: ``AppStoreServerError`` of the categories `transport` and `unreadable` (too long), or
    ///   `CancellationError`; an HTTP status is none.
    func answer(to request: HTTPClientRequest) async throws -> Answer {
        let timeOut = ContinuousClock.now + limits.timeout
        let end = deadline.map { min($0, timeOut) } ?? timeOut
        let result = await withTaskGroup(of: Result<Answer, any Error>?.self) { group in
            group.addTask { await Self.caught { try await send(request, until: end) } }
            group.addTask {
                try? await Task.sleep(until: end, clock: .continuous)
                return nil
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            return first
        }
        // A cancelled task ends both children, in either order.
        try Task.checkCancellation()
        switch result {
        case .success(let answer): return answer
        case .failure(let error as AppStoreServerError): throw error
        case .failure(let error): throw AppStoreServerError.transport("no whole answer: \(type(of: error)) \(error)")
        case nil: throw AppStoreServerError.transport("no whole answer in time")
        }
    }

    private static func caught(_ body: () async throws -> Answer) async -> Result<Answer, any Error> {
        do { return .success(try await body()) } catch { return .failure(error) }
    }

    private func send(_ request: HTTPClientRequest, until end: ContinuousClock.Instant) async throws -> Answer {
        let time = max(.zero, end - ContinuousClock.now)
        let nanoseconds = time.components.seconds * 1_000_000_000 + time.components.attoseconds / 1_000_000_000
        // The head has this long; the caller bounds the body as well.
        let response = try await http.execute(request, timeout: .nanoseconds(nanoseconds))
        let status = Int(response.status.code)
        let body: ByteBuffer
        do {
            body = try await response.body.collect(upTo: limits.answerBytes)
        } catch is NIOTooManyBytesError {
            throw AppStoreServerError.unreadable(status, "the answer has more than \(limits.answerBytes) bytes")
        }
        return Answer(
            status: status, contentType: response.headers.first(name: "content-type") ?? "",
            retryAfter: response.headers.first(name: "retry-after"), body: Data(body.readableBytesView))
    }
}
