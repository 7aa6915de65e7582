import Foundation

/// Asks a service's admin port whether it lives and is ready.
struct ServiceCheck: Sendable {
    private static let timeout = Duration.seconds(5)

    let http: HTTPCaller
    /// The address of the admin port.
    let base: String

    func run() async -> Finding {
        do {
            let answer = try await http.get("\(base)/readyz", timeout: Self.timeout)
            let text = String(decoding: answer.body.prefix(500), as: UTF8.self)
                .split(whereSeparator: \.isNewline).joined(separator: "; ")
            if answer.isSuccess { return .good("service", "\(base) is ready") }
            return .wrong(
                "service", "\(base) lives but is not ready (\(answer.status)): \(text)",
                remedy: "what it names there is what it waits for")
        } catch {
            return .wrong("service", "\(base) does not answer: \(error)", remedy: "is it running? see its log")
        }
    }
}
