import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Synchronization
import Testing

@testable import Console

/// A browser at the console: it keeps cookies and follows nothing by itself.
final class TestBrowser: Sendable {
    let client: any TestClientProtocol
    private let cookies = Mutex<[String: String]>([:])

    init(_ client: any TestClientProtocol) { self.client = client }

    var session: String? {
        get { cookies.withLock { $0[HostCookie.session.rawValue] } }
        set { cookies.withLock { $0[HostCookie.session.rawValue] = newValue } }
    }

    func forget(_ cookie: HostCookie) { cookies.withLock { $0[cookie.rawValue] = nil } }

    @discardableResult
    func get(_ path: String, _ headers: HTTPFields = [:]) async throws -> TestResponse {
        try await send(.get, path, headers, body: nil)
    }

    @discardableResult
    func post(_ path: String, _ fields: [(String, String)] = [], _ headers: HTTPFields = [:]) async throws
        -> TestResponse
    {
        var headers = headers
        headers[.contentType] = "application/x-www-form-urlencoded"
        return try await send(.post, path, headers, body: ByteBuffer(string: ProviderRequests.form(fields)))
    }

    /// Whether a page of the console is shown.
    func isIn() async throws -> Bool {
        let answer = try await get("/")
        return answer.headers[.location]?.hasPrefix("/apps/") == true
    }

    /// The token that forms have: of the first form of a page.
    func token(on page: String) async throws -> String {
        let text = String(buffer: try await get(page).body)
        return String(try #require(text.firstMatch(of: /name="csrf" value="([0-9a-f]+)"/)).1)
    }

    /// Logs in at the provider.
    ///
    /// - Returns: the answer to the way back.
    @discardableResult
    func logIn(at provider: TestProvider, next: String = "/") async throws -> TestResponse {
        let start = try await get("/login/start?next=\(IntakeClient.part(next))")
        let (state, code) = try provider.authorize(try #require(start.headers[.location]))
        return try await get("/login/callback?state=\(state)&code=\(code)")
    }

    private func send(
        _ method: HTTPRequest.Method, _ path: String, _ headers: HTTPFields, body: ByteBuffer?
    ) async throws -> TestResponse {
        var headers = headers
        let sent = cookies.withLock { $0.map { "\($0.key)=\($0.value)" }.joined(separator: "; ") }
        if !sent.isEmpty { headers[.cookie] = sent }
        let response = try await client.execute(uri: path, method: method, headers: headers, body: body)
        for line in response.headers[values: .setCookie] {
            let pair = line.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard pair.count == 2 else { continue }
            cookies.withLock { $0[String(pair[0])] = pair[1].isEmpty ? nil : String(pair[1]) }
        }
        return response
    }
}
