import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1

/// How a request becomes an answer or an error.
extension AppStoreServerClient {
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

    private func success(_ call: APICall, in environment: AppStoreEnvironment) async throws -> Exchange.Answer {
        let token = try tokens.token()
        let exchange = Exchange(http: http, limits: limits, deadline: deadline)
        let answer = try await exchange.answer(to: request(call, in: environment, token: token))
        guard (200..<300).contains(answer.status) else {
            // Whatever was wrong with it, the next call has a new one.
            if answer.status == 401 { tokens.forget(token) }
            throw AppStoreServerError(answer)
        }
        return answer
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
}
