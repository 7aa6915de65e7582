import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1

/// Asks a provider, within limits.
struct ProviderRequests: Sendable {
    enum Limit {
        /// Seconds that an answer may take; a page of somebody who is logged in waits for it once a minute.
        static let seconds: Int64 = 5
        /// The largest answer; key sets and discovery have some 10 kB.
        static let answerBytes = 256 << 10
    }

    /// No redirects: answers come from the address that was asked, and from nowhere else.
    let http: HTTPClient

    /// A JSON document at an address.
    ///
    /// - Parameter token: goes along as the bearer's.
    /// - Throws: `ProviderTrouble`.
    func get(_ address: String, token: String? = nil) async throws -> Data {
        var request = HTTPClientRequest(url: address)
        request.headers.add(name: "accept", value: "application/json")
        if let token { request.headers.add(name: "authorization", value: "Bearer \(token)") }
        return try await answer(request)
    }

    /// The answer to a form.
    ///
    /// - Throws: `ProviderTrouble`.
    func post(_ address: String, _ fields: [(String, String)], authorization: String?) async throws -> Data {
        var request = HTTPClientRequest(url: address)
        request.method = .POST
        request.headers.add(name: "accept", value: "application/json")
        request.headers.add(name: "content-type", value: "application/x-www-form-urlencoded")
        if let authorization { request.headers.add(name: "authorization", value: authorization) }
        request.body = .bytes(ByteBuffer(string: Self.form(fields)))
        return try await answer(request)
    }

    /// Fields as a form or a query has them.
    static func form(_ fields: [(String, String)]) -> String {
        fields.map { "\(IntakeClient.part($0))=\(IntakeClient.part($1))" }.joined(separator: "&")
    }

    private func answer(_ request: HTTPClientRequest) async throws -> Data {
        let status: HTTPResponseStatus
        let bytes: Data
        do {
            let response = try await http.execute(request, timeout: .seconds(Limit.seconds))
            status = response.status
            bytes = Data(try await response.body.collect(upTo: Limit.answerBytes).readableBytesView)
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            // The error of a request may quote what was sent.
            throw ProviderTrouble.away("no answer from \(Self.host(request.url))")
        }
        switch status.code {
        case 200..<300: return bytes
        case 400, 401, 403:
            let problem = try? JSONDecoder().decode(JSON.self, from: bytes)
            throw ProviderTrouble.refused(Self.plain(problem?["error"].text) ?? "status \(status.code)")
        default: throw ProviderTrouble.away("\(Self.host(request.url)) answered with status \(status.code)")
        }
    }

    private static func host(_ url: String) -> String { URL(string: url)?.host() ?? "its address" }

    /// A code such as `invalid_grant`; anything else is not repeated.
    private static func plain(_ code: String?) -> String? {
        guard let code, (1...64).contains(code.utf8.count), code.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else {
            return nil
        }
        return code
    }
}
