import AsyncHTTPClient
import BlockingThreads
import Foundation
import Logging
import NIOCore
import NIOHTTP1
import ServiceLifecycle
import ServiceRuntime

/// Where an app's public keys are.
enum KeySetSource: Sendable, Hashable {
    /// A file on this machine.
    case file(String)
    /// An address of the issuer.
    case url(String)

    /// The source that an app is configured with; nil for none.
    init?(_ authentication: AppsFile.Authentication) {
        if let path = authentication.jwksFile {
            self = .file(path)
        } else if let address = authentication.jwksURL {
            self = .url(address)
        } else {
            return nil
        }
    }

    /// The sources of all apps.
    ///
    /// - Throws: `KeySetError` for an address that anybody on the way could answer for.
    static func all(in apps: AppsFile) throws(KeySetError) -> Set<KeySetSource> {
        let sources = Set(apps.apps.values.compactMap { KeySetSource($0.authentication) })
        for case .url(let address) in sources {
            let url = URL(string: address)
            let isLoopback = ["127.0.0.1", "localhost", "[::1]", "::1"].contains(url?.host ?? "")
            guard url?.scheme == "https" || (url?.scheme == "http" && isLoopback) else {
                throw KeySetError(problem: "its address \(address) is not https")
            }
        }
        return sources
    }
}

/// Keeps the key sets fresh in the background.
///
/// A set that cannot be fetched leaves the last one in use.
struct KeySetRefresh: Service, CustomStringConvertible {
    /// How long one fetch may take.
    static let fetchTimeout = TimeAmount.seconds(10)
    /// The first wait after a failure, which then doubles up to the interval or a minute.
    static let failureDelay = Duration.seconds(2)

    /// The caches by source.
    let caches: [KeySetSource: KeySetCache]
    private let tasks: [PeriodicTask]
    private let client: HTTPClient?

    /// Makes caches and what fills them; it begins with `run()`.
    ///
    /// - Parameter interval: the time between refreshes.
    init(sources: Set<KeySetSource>, interval: Duration, logger: Logger) {
        let addressed = sources.contains { if case .url = $0 { true } else { false } }
        // No redirects: the keys come from the address that was configured, and from nowhere else.
        let client =
            addressed
            ? HTTPClient(
                eventLoopGroupProvider: .singleton,
                configuration: HTTPClient.Configuration(
                    redirectConfiguration: .disallow,
                    timeout: .init(connect: .seconds(5), read: Self.fetchTimeout))) : nil
        var caches: [KeySetSource: KeySetCache] = [:]
        var tasks: [PeriodicTask] = []
        for (number, source) in sources.enumerated() {
            let cache = KeySetCache()
            let task = PeriodicTask(
                "key-set-\(number + 1)",
                schedule: .init(every: interval, failureDelayMinimum: min(Self.failureDelay, interval)), logger: logger
            ) {
                cache.update(try await KeySet(Self.fetch(source, client: client)))
            }
            cache.onRefreshRequest { task.wake() }
            caches[source] = cache
            tasks.append(task)
        }
        self.caches = caches
        self.tasks = tasks
        self.client = client
    }

    /// The name in logs.
    var description: String { "key set refresh" }

    /// Refreshes until shutdown.
    func run() async throws {
        if tasks.isEmpty {
            try? await gracefulShutdown()
        } else {
            try await withThrowingDiscardingTaskGroup { group in
                for task in tasks { group.addTask { try await task.run() } }
            }
        }
        try await client?.shutdown()
    }

    private static func fetch(_ source: KeySetSource, client: HTTPClient?) async throws -> Data {
        switch source {
        case .file(let path):
            return try await file(path)
        case .url(let address):
            guard let client else { throw KeySetError(problem: "there is no client to fetch it with") }
            var request = HTTPClientRequest(url: address)
            request.headers.add(name: "accept", value: "application/json")
            let response = try await client.execute(request, timeout: fetchTimeout)
            guard response.status == .ok else {
                throw KeySetError(problem: "\(address) answered with status \(response.status.code)")
            }
            let body = try await response.body.collect(upTo: KeySet.bytesMaximum)
            return Data(body.readableBytesView)
        }
    }

    /// Reads a file off the cooperative pool: it may lie on a disk that is slow or far away.
    private static func file(_ path: String) async throws -> Data {
        let data: Data? = await withCheckedContinuation { continuation in
            _ = BlockingThread.start(name: "read-keys") {
                let size = (try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) ?? 0
                let isReadable = size <= KeySet.bytesMaximum
                continuation.resume(returning: isReadable ? FileManager.default.contents(atPath: path) : nil)
            }
        }
        guard let data else { throw KeySetError(problem: "\(path) cannot be read, or is too large") }
        return data
    }
}
