import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1

/// Posts real-time requests to a backend's Get Retention Message endpoint and says what came of it.
struct RealtimeSender: Sendable {
    enum Limit {
        /// How long Apple waits in production, in milliseconds (Setting up your Get Retention Message endpoint).
        static let answerMilliseconds: Int64 = 700
        /// Bytes of an answer that are read; a `RealtimeResponseBody` is far smaller.
        static let answerBytes = 65_536
        /// Characters of the endpoint's address (Apple's `realtimeURL`).
        static let urlCharacters = 256
    }

    let signer: PayloadSigner
    let clock: VirtualClock

    /// Whether requests can go there: Apple wants HTTPS, a backend on the developer's machine may do without.
    static func isAddress(_ url: String) -> Bool {
        guard url.count <= Limit.urlCharacters, let parts = URLComponents(string: url) else { return false }
        return ["http", "https"].contains(parts.scheme?.lowercased()) && !(parts.host ?? "").isEmpty
    }

    func sign(_ request: RealtimeRequest) throws -> String {
        try signer.sign(request.payload(signedDate: clock.now))
    }

    /// Posts `{"signedPayload": …}` and waits for the answer's end.
    ///
    /// - Parameter milliseconds: what takes longer is ``SendAttemptResult/timedOut``.
    func post(
        _ signedPayload: String, to url: String, within milliseconds: Int64 = Limit.answerMilliseconds
    ) async -> RealtimeAnswer {
        let clock = ContinuousClock()
        let begun = clock.now
        var answer = RealtimeAnswer(result: .timedOut, milliseconds: 0)
        do {
            answer = try await withThrowingTaskGroup(of: RealtimeAnswer?.self) { group in
                group.addTask { try await Self.exchange(signedPayload, url, milliseconds) }
                group.addTask {
                    try await Task.sleep(for: .milliseconds(milliseconds))
                    return nil
                }
                defer { group.cancelAll() }
                return try await group.next().flatMap { $0 } ?? answer
            }
        } catch {
            answer.result = SendAttemptResult(of: error, hasHead: false)
        }
        answer.milliseconds = Int64((clock.now - begun) / .milliseconds(1))
        return answer
    }

    private static func exchange(
        _ signedPayload: String, _ url: String, _ milliseconds: Int64
    ) async throws -> RealtimeAnswer {
        var json = JSONText()
        json.add("signedPayload", signedPayload)
        var request = HTTPClientRequest(url: url)
        request.method = .POST
        request.headers.add(name: "content-type", value: "application/json")
        request.body = .bytes(ByteBuffer(string: json.object))
        let response = try await HTTPClient.shared.execute(request, timeout: .milliseconds(milliseconds))
        var body = Data()
        for try await part in response.body {
            body.append(contentsOf: part.readableBytesView)
            guard body.count <= Limit.answerBytes else { break }
        }
        let isObject = JSONValue(json: body)?.map != nil
        var answer = RealtimeAnswer(
            result: .success, status: Int(response.status.code), milliseconds: 0, body: isObject ? body : nil)
        // Apple knows one good status here, unlike for notifications.
        if response.status != .ok {
            answer.result = .unsuccessfulStatus
        } else if !isObject {
            answer.result = .invalidResponse
        }
        return answer
    }
}
