import AppStoreServerAPI
import AsyncHTTPClient
import ServerTesting

/// A server that answers one request a connection with bytes as they are, and keeps what it was asked.
struct VerifyReceiptServer: Sendable {
    private let server: AnsweringServer

    var url: String { server.url }

    /// The requests so far, head and body.
    var requests: [String] { server.requests.map { "\($0.head)\r\n\r\n\($0.text)" } }

    /// What an HTTP server answers.
    static func http(_ status: String, _ body: String, _ headers: String = "content-type: application/json") -> String {
        "HTTP/1.1 \(status)\r\n\(headers)\r\ncontent-length: \(body.utf8.count)\r\nconnection: close\r\n\r\n\(body)"
    }

    /// Runs the body with a server of these answers, the last of them again and again, and ends it.
    static func run<Value>(
        _ answers: [String], _ body: (VerifyReceiptServer) async throws -> Value
    ) async throws -> Value {
        try await AnsweringServer.with(answer: { index, _ in
            .text(answers[min(index, answers.count - 1)], closes: true)
        }) { server, _ in
            try await body(VerifyReceiptServer(server: server))
        }
    }

    /// A client whose both hosts are this, by way of a client that does not follow redirects.
    func client(_ http: HTTPClient, limits: AppStoreServerClient.Limits = .init()) -> VerifyReceiptClient {
        let hosts = VerifyReceiptHosts(production: url + "/", sandbox: url + "/sandbox")
        return VerifyReceiptClient(http: http, hosts: hosts, limits: limits)
    }
}
