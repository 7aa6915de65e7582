import AppStoreServerAPI
import AsyncHTTPClient
import Foundation
import Glibc
import Synchronization

/// A server on a socket that answers one request a connection with bytes as they are, and keeps what it was asked.
///
/// Its requests are not Apple's simulator's: it also sends what no HTTP library would.
final class VerifyReceiptServer: Sendable {
    private enum Limit {
        /// Bytes of a request that are kept.
        static let request = 16 << 20
        /// Seconds that a connection may say nothing: one that a client opened and never used must not hold up the end.
        static let silence = 10
    }

    private struct Trouble: Error {}

    let url: String
    private let listener: Int32
    private let answers: [String]
    private let kept = Mutex<[String]>([])

    /// The requests so far, head and body.
    var requests: [String] { kept.withLock { $0 } }

    /// What an HTTP server answers.
    static func http(_ status: String, _ body: String, _ headers: String = "content-type: application/json") -> String {
        "HTTP/1.1 \(status)\r\n\(headers)\r\ncontent-length: \(body.utf8.count)\r\nconnection: close\r\n\r\n\(body)"
    }

    /// Runs the body with a server of these answers, the last of them again and again, and ends it.
    static func run<Value>(
        _ answers: [String], _ body: (VerifyReceiptServer) async throws -> Value
    ) async throws -> Value {
        let server = try VerifyReceiptServer(answers)
        let (ends, end) = AsyncStream<Void>.makeStream()
        let thread = Thread {
            server.serve()
            end.finish()
        }
        thread.start()
        let result: Result<Value, any Error>
        do { result = .success(try await body(server)) } catch { result = .failure(error) }
        // Wakes the thread, which waits for connections.
        shutdown(server.listener, Int32(SHUT_RDWR))
        for await _ in ends {}
        close(server.listener)
        return try result.get()
    }

    private init(_ answers: [String]) throws {
        self.answers = answers
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = listener
        let isListening = withUnsafeMutableBytes(of: &address) { bytes in
            guard let pointer = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self) else { return false }
            return bind(descriptor, pointer, length) == 0 && listen(descriptor, 16) == 0
                && getsockname(descriptor, pointer, &length) == 0
        }
        guard isListening else { throw Trouble() }
        url = "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))"
    }

    /// A client whose both hosts are this, by way of a client that does not follow redirects.
    func client(_ http: HTTPClient, limits: AppStoreServerClient.Limits = .init()) -> VerifyReceiptClient {
        let hosts = VerifyReceiptHosts(production: url + "/", sandbox: url + "/sandbox")
        return VerifyReceiptClient(http: http, hosts: hosts, limits: limits)
    }

    private func serve() {
        while true {
            let connection = accept(listener, nil, nil)
            guard connection >= 0 else { return }
            var silence = timeval(tv_sec: Limit.silence, tv_usec: 0)
            let size = socklen_t(MemoryLayout<timeval>.size)
            setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &silence, size)
            if let request = Self.request(of: connection) {
                let number = kept.withLock { kept in
                    kept.append(request)
                    return kept.count
                }
                Self.write(answers[min(number, answers.count) - 1], to: connection)
            }
            close(connection)
        }
    }

    /// One whole request; nil when it breaks off.
    private static func request(of connection: Int32) -> String? {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while bytes.count < Limit.request {
            let count = recv(connection, &buffer, buffer.count, 0)
            guard count > 0 else { return nil }
            bytes += buffer[0..<count]
            let text = String(decoding: bytes, as: UTF8.self)
            guard let head = text.range(of: "\r\n\r\n") else { continue }
            let line = text[..<head.lowerBound].lowercased().split(separator: "\r\n").first {
                $0.hasPrefix("content-length:")
            }
            let length = line.flatMap { Int($0.dropFirst(15).trimmingCharacters(in: .whitespaces)) } ?? 0
            if text[head.upperBound...].utf8.count >= length { return text }
        }
        return nil
    }

    private static func write(_ text: String, to connection: Int32) {
        let bytes = Array(text.utf8)
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                // A client that has enough closes: no signal then.
                send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            sent += count
        }
    }
}
