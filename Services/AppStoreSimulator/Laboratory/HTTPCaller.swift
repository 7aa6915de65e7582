import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1

/// Sends one HTTP request and reads one short answer.
struct HTTPCaller: Sendable {
    /// The longest answer that is read: a thousand sold transactions of some five kilobytes.
    static let answerBytesMaximum = 64 << 20

    let client: HTTPClient

    /// What came back.
    struct Answer: Sendable {
        let status: Int
        /// What `Retry-After` asks for.
        let retryAfter: Duration?
        let body: Data
        /// All header fields.
        var headers = HTTPHeaders()

        var isSuccess: Bool { (200..<300).contains(status) }
    }

    /// Runs the body with a client of so many connections, and closes them whatever happens.
    ///
    /// - Parameter retriesConnecting: tries again while a request has time, when nobody listens.
    static func with<Result: Sendable>(
        connections: Int, retriesConnecting: Bool = true, _ body: (HTTPCaller) async throws -> Result
    ) async throws -> Result {
        var configuration = HTTPClient.Configuration()
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = connections
        configuration.connectionPool.retryConnectionEstablishment = retriesConnecting
        configuration.timeout.connect = .seconds(5)
        let client = HTTPClient(configuration: configuration)
        do {
            let result = try await body(HTTPCaller(client: client))
            try await client.shutdown()
            return result
        } catch {
            try? await client.shutdown()
            throw error
        }
    }

    /// Any method, with a body of JSON or without one.
    ///
    /// - Throws: whatever keeps an answer from coming.
    func call(
        _ method: HTTPMethod, _ url: String, json: Data? = nil, headers: [(String, String)] = [], timeout: Duration
    ) async throws -> Answer {
        var request = HTTPClientRequest(url: url)
        request.method = method
        if let json {
            request.headers.add(name: "content-type", value: "application/json")
            request.body = .bytes(ByteBuffer(bytes: json))
        }
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        let response = try await client.execute(request, timeout: .nanoseconds(timeout.wholeNanoseconds))
        let body = try await response.body.collect(upTo: Self.answerBytesMaximum)
        return Answer(
            status: Int(response.status.code),
            retryAfter: response.headers.first(name: "retry-after").flatMap(Int.init).map { .seconds($0) },
            body: Data(body.readableBytesView), headers: response.headers)
    }
}

extension Duration {
    /// The duration in whole nanoseconds, as SwiftNIO takes it.
    var wholeNanoseconds: Int64 { components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000 }

    /// The duration in milliseconds.
    var milliseconds: Double { Double(components.seconds) * 1000 + Double(components.attoseconds) / 1e15 }
}
