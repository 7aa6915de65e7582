import AsyncHTTPClient
import NIOCore
import NIOHTTP1

/// What an ordinary client got.
struct ClientAnswer: Sendable {
    let status: Int
    let headers: HTTPHeaders
    let body: String
}

/// An ordinary client of the listeners.
enum ListenerClient {
    /// Sends a request with a client of its own.
    static func send(
        _ method: HTTPMethod, _ url: String, body: String? = nil
    ) async throws -> ClientAnswer {
        var configuration = HTTPClient.Configuration()
        configuration.httpVersion = .http1Only
        configuration.connectionPool.retryConnectionEstablishment = false
        return try await HTTPClient.withHTTPClient(configuration: configuration) { client in
            var request = HTTPClientRequest(url: url)
            request.method = method
            if let body { request.body = .bytes(ByteBuffer(string: body)) }
            let response = try await client.execute(request, timeout: .seconds(60))
            let bytes = try await response.body.collect(upTo: 1 << 20)
            return ClientAnswer(
                status: Int(response.status.code), headers: response.headers, body: String(buffer: bytes))
        }
    }

    static func get(_ url: String) async throws -> ClientAnswer {
        try await send(.GET, url)
    }
}
