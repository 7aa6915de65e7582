import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1

/// How a request becomes an answer or an error.
extension AppStoreServerClient {
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

    /// Makes a call and reads the JSON of its answer.
    func value<Value: Decodable & Sendable>(
        _ call: APICall, in environment: AppStoreEnvironment, as type: Value.Type = Value.self
    ) async throws -> Value {
        let answer = try await success(call, in: environment)
        guard answer.isJSON else {
            throw AppStoreServerError.unreadable(answer.status, "the answer is not application/json")
        }
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .millisecondsSince1970
        do {
            return try decoder.decode(type, from: answer.body)
        } catch {
            // What the decoder says may quote the body: the name of the type is all that is told.
            throw AppStoreServerError.unreadable(answer.status, "the answer is not a \(type)")
        }
    }

    /// Makes a call whose answer says nothing but that it succeeded.
    func perform(_ call: APICall, in environment: AppStoreEnvironment) async throws {
        let answer = try await success(call, in: environment)
        // A page of something between us and Apple does not mean that Apple did it.
        guard answer.isJSON || answer.body.isEmpty else {
            throw AppStoreServerError.unreadable(answer.status, "the answer is not from the App Store")
        }
    }

    private func success(_ call: APICall, in environment: AppStoreEnvironment) async throws -> Answer {
        let token = try tokens.token()
        let answer = try await exchange(call, in: environment, token: token)
        guard (200..<300).contains(answer.status) else {
            // Whatever was wrong with it, the next call has a new one.
            if answer.status == 401 { tokens.forget(token) }
            throw AppStoreServerError(answer)
        }
        return answer
    }

    /// One request, over by its deadline whatever the other side does.
    private func exchange(_ call: APICall, in environment: AppStoreEnvironment, token: String) async throws -> Answer {
        let request = request(call, in: environment, token: token)
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

    private func request(_ call: APICall, in environment: AppStoreEnvironment, token: String) -> HTTPClientRequest {
        var request = HTTPClientRequest(url: hosts.base(of: environment) + call.path)
        request.method = HTTPMethod(rawValue: call.method.rawValue)
        request.headers.add(name: "authorization", value: "Bearer \(token)")
        request.headers.add(name: "accept", value: "application/json")
        request.headers.add(name: "user-agent", value: "countersign")
        switch call.body {
        case .none: break
        case .json(let data):
            request.headers.add(name: "content-type", value: "application/json")
            request.body = .bytes(ByteBuffer(bytes: data))
        case .png(let bytes):
            request.headers.add(name: "content-type", value: "image/png")
            request.body = .bytes(ByteBuffer(bytes: bytes))
        }
        return request
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
