import Foundation
import NIOHTTP1

/// What a process says of itself on its admin port.
struct AdminPort: Sendable {
    private let client: IntakeClient
    private let url: String

    init(_ client: IntakeClient, _ url: String) {
        self.client = client
        self.url = url
    }

    /// Of a process of the stack.
    init(_ client: IntakeClient, _ stack: Stack, _ name: String) throws {
        let key = name.uppercased().replacingOccurrences(of: "-", with: "_")
        self.init(client, try stack.setting("COUNTERSIGN_\(key)_ADMIN_URL"))
    }

    /// Whether it is ready, and what it says to that; not ready where it does not answer.
    func readiness() async -> (isReady: Bool, text: String) {
        guard let answer = try? await client.send(.GET, "\(url)/readyz") else { return (false, "no answer") }
        return (answer.status == 200, String(decoding: answer.body, as: UTF8.self))
    }

    /// The page of metrics, line by line.
    func page() async throws -> [String] {
        let answer = try await client.send(.GET, "\(url)/metrics")
        return String(decoding: answer.body, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    /// The sum of a metric's samples, of one topic where one is named; nil where there is none.
    func metric(_ name: String, topic: String? = nil) async throws -> Double? {
        var sum: Double?
        for line in try await page() {
            guard let end = line.firstIndex(where: { $0 == "{" || $0 == " " }), line[..<end] == name else { continue }
            if let topic, !line.contains("topic=\"\(topic)\"") { continue }
            guard let value = line.split(separator: " ").last.flatMap({ Double($0) }) else { continue }
            sum = (sum ?? 0) + value
        }
        return sum
    }

    /// Asks until the process is ready, for a bounded time.
    func waitUntilReady(within limit: Duration = .seconds(60)) async throws {
        let deadline = ContinuousClock.now + limit
        while true {
            let (isReady, text) = await readiness()
            if isReady { return }
            guard ContinuousClock.now < deadline else { throw StackFailure("\(url) is not ready: \(text)") }
            // Nothing signals the readiness of another process.
            try await Task.sleep(for: .milliseconds(50))
        }
    }
}
