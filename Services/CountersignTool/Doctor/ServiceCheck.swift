import AsyncHTTPClient
import NIOCore
import NIOHTTP1

/// Asks a service's admin port whether it lives and is ready.
struct ServiceCheck: Sendable {
    private static let timeout = TimeAmount.seconds(5)
    /// Real answers have some hundred bytes.
    private static let answerBytesMaximum = 1 << 20

    /// The address of the admin port.
    let base: String

    func run() async -> Finding {
        do {
            let answer = try await HTTPClient.shared.execute(
                HTTPClientRequest(url: "\(base)/readyz"), timeout: Self.timeout)
            let body = try await answer.body.collect(upTo: Self.answerBytesMaximum)
            let text = String(decoding: body.readableBytesView.prefix(500), as: UTF8.self)
                .split(whereSeparator: \.isNewline).joined(separator: "; ")
            if (200..<300).contains(answer.status.code) { return .good("service", "\(base) is ready") }
            return .wrong(
                "service", "\(base) lives but is not ready (\(answer.status.code)): \(text)",
                remedy: "what it names there is what it waits for")
        } catch {
            return .wrong("service", "\(base) does not answer: \(error)", remedy: "is it running? see its log")
        }
    }
}
