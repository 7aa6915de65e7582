import AsyncHTTPClient
import BlockingThreads
import Foundation
import JSONWebKeys
import Logging
import NIOCore
import NIOHTTP1
import ServiceLifecycle
import ServiceRuntime
import Synchronization

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
final class KeySetRefresh: Service, CustomStringConvertible {
    /// How long one fetch may take.
    static let fetchTimeout = TimeAmount.seconds(10)
    /// The first wait after a failure, which then doubles up to the interval or a minute.
    static let failureDelay = Duration.seconds(2)

    private struct Followed {
        let cache: KeySetCache
        let task: PeriodicTask
    }

    private let interval: Duration
    private let logger: Logger
    private let client: HTTPClient
    private let followed = Mutex<[KeySetSource: Followed]>([:])
    /// Tasks that are to run from now on.
    private let (begun, beginning) = AsyncStream<PeriodicTask>.makeStream()

    /// Follows nothing yet; fetching begins with `run()`.
    ///
    /// - Parameter interval: the time between refreshes.
    init(interval: Duration, logger: Logger) {
        self.interval = interval
        self.logger = logger
        // No redirects: the keys come from the address that was configured, and from nowhere else.
        client = HTTPClient(
            eventLoopGroupProvider: .singleton,
            configuration: HTTPClient.Configuration(
                redirectConfiguration: .disallow, timeout: .init(connect: .seconds(5), read: Self.fetchTimeout)))
    }

    /// The name in logs.
    var description: String { "key set refresh" }

    /// Follows these sources, and no others any more.
    ///
    /// - Returns: the caches by source; a source that was followed before keeps its keys.
    func follow(_ sources: Set<KeySetSource>) -> [KeySetSource: KeySetCache] {
        let (caches, ended): ([KeySetSource: KeySetCache], [PeriodicTask]) = followed.withLock { followed in
            let ended = followed.filter { !sources.contains($0.key) }
            for source in ended.keys { followed[source] = nil }
            for source in sources where followed[source] == nil {
                let new = follow(source)
                followed[source] = new
                beginning.yield(new.task)
            }
            return (followed.mapValues(\.cache), ended.values.map(\.task))
        }
        for task in ended { task.stop() }
        return caches
    }

    /// Refreshes until shutdown.
    func run() async throws {
        try await withThrowingDiscardingTaskGroup { group in
            for await task in begun.cancelOnGracefulShutdown() {
                group.addTask { try await task.run() }
            }
        }
        try await client.shutdown()
    }

    private func follow(_ source: KeySetSource) -> Followed {
        let cache = KeySetCache()
        let task = PeriodicTask(
            "key-set", schedule: .init(every: interval, failureDelayMinimum: min(Self.failureDelay, interval)),
            logger: logger
        ) { [client] in
            cache.update(try await KeySet(Self.fetch(source, client: client)))
        }
        cache.onRefreshRequest { task.wake() }
        return Followed(cache: cache, task: task)
    }

    private static func fetch(_ source: KeySetSource, client: HTTPClient) async throws -> Data {
        switch source {
        case .file(let path):
            return try await file(path)
        case .url(let address):
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
