import AsyncHTTPClient
import CountersignClient
import Foundation
import NIOCore
import NIOHTTP1

/// The client's transport by async-http-client.
struct HTTPClientTransport: ServerTransport {
    let client: HTTPClient

    func send(_ request: ServerRequest) async throws -> ServerAnswer {
        var sent = HTTPClientRequest(url: request.url.absoluteString)
        sent.method = HTTPMethod(rawValue: request.method)
        for (name, value) in request.headers { sent.headers.add(name: name, value: value) }
        if let body = request.body { sent.body = .bytes(Array(body)) }
        let answer = try await client.execute(
            sent, timeout: .milliseconds(Int64(request.timeout * 1_000)))
        let body = try await answer.body.collect(upTo: request.answerMaximum)
        var headers: [String: String] = [:]
        for field in answer.headers { headers[field.name.lowercased()] = field.value }
        return ServerAnswer(status: Int(answer.status.code), headers: headers, body: Data(body.readableBytesView))
    }
}
