import AsyncHTTPClient
import NIOCore
import NIOHTTP1

/// Asks a service's admin port whether it lives and is ready, and whom it believes.
struct ServiceCheck: Sendable {
    private static let timeout = TimeAmount.seconds(5)
    /// Real answers have some hundred bytes.
    private static let answerBytesMaximum = 1 << 20

    /// The address of the admin port.
    let base: String

    func run() async -> [Finding] {
        let readiness = await readiness()
        do {
            return [readiness] + RootCheck.judge(try await MetricsPage.fetch(base), of: base)
        } catch {
            // Of one that does not answer at all, the first finding says so.
            guard readiness.level == .good else { return [readiness] }
            return [
                readiness,
                .warning(RootCheck.subject, "not looked at: \(error)", remedy: "is it the admin port of a service?"),
            ]
        }
    }

    private func readiness() async -> Finding {
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
