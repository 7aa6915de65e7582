import Foundation
import FoundationNetworking
import Logging
import Metrics
import ServiceLifecycle
import Synchronization
import Testing

@testable import ServiceRuntime

/// A file that goes away with its last reference.
final class TemporaryFile: Sendable {
    let path: String

    init(_ content: Data) throws {
        path = FileManager.default.temporaryDirectory.appending(path: "countersign-\(UUID().uuidString)").path
        try content.write(to: URL(filePath: path))
    }

    convenience init(_ content: String) throws {
        try self.init(Data(content.utf8))
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}

/// Something that happens several times, to wait for.
struct Occurrences<Value: Sendable>: Sendable {
    private let stream: AsyncStream<Value>
    private let continuation: AsyncStream<Value>.Continuation

    init(of type: Value.Type = Value.self) {
        (stream, continuation) = AsyncStream.makeStream()
    }

    func happen(_ value: Value) { continuation.yield(value) }

    /// The next occurrence; throws when the test is cancelled by its time limit.
    func next() async throws -> Value {
        for await value in stream { return value }
        throw CancellationError()
    }
}

/// swift-metrics can be bootstrapped once in a process; whoever needs it takes this.
enum SharedMetrics {
    static let registry: PrometheusMetrics = {
        let metrics = PrometheusMetrics()
        MetricsSystem.bootstrap(metrics)
        return metrics
    }()
}

/// A part that tells when it runs and when it is stopped.
struct ProbeService: Service, CustomStringConvertible {
    let description: String
    let events: Occurrences<String>
    var failure: Occurrences<Bool>?
    var onStop: @Sendable () async -> Void = {}

    func run() async throws {
        events.happen("\(description) runs")
        if let failure {
            if try await failure.next() { throw ProbeFailure() }
            return
        }
        try await gracefulShutdown()
        await onStop()
        events.happen("\(description) stopped")
    }
}

struct ProbeFailure: Error, CustomStringConvertible {
    var description: String { "the probe failed" }
}

/// One HTTP answer.
struct Answer {
    var status: Int
    var headers: [String: String]
    var body: String
}

/// Asks a server on this machine.
func ask(
    _ port: Int, _ path: String, method: String = "GET", headers: [String: String] = [:], body: Data? = nil
) async throws -> Answer {
    var request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:\(port)\(path)")))
    request.httpMethod = method
    request.httpBody = body
    for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
    let (data, response) = try await URLSession.shared.data(for: request)
    let http = try #require(response as? HTTPURLResponse)
    var fields: [String: String] = [:]
    for (name, value) in http.allHeaderFields { fields["\(name)".lowercased()] = "\(value)" }
    return Answer(status: http.statusCode, headers: fields, body: String(decoding: data, as: UTF8.self))
}
