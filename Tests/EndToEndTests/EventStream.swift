import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1

/// A stream of server-sent events that is open, and read, until it is closed.
struct EventStream: Sendable {
    let status: Int
    private let reading: Task<Void, any Error>?

    /// Opens it, and returns once it has been answered.
    static func open(_ url: String, headers: [String: String]) async throws -> EventStream {
        var request = HTTPClientRequest(url: url)
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        request.headers.add(name: "accept", value: "text/event-stream")
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(60))
        let body = response.body
        guard response.status == .ok else { return EventStream(status: Int(response.status.code), reading: nil) }
        return EventStream(status: 200, reading: Task { for try await _ in body {} })
    }

    func close() {
        reading?.cancel()
    }
}
