import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import ServiceLifecycle

/// The process's own port for its operators: `/livez`, `/readyz` and `/metrics`.
///
/// It is the first service to start and the last to stop, so that a shutdown can be watched to its end.
struct AdminServer: Service, CustomStringConvertible {
    /// The most connections at a time: a scraper, an orchestrator and a few people.
    static let connectionsMaximum = 64
    /// After how many seconds an idle connection is closed, so that none of the above can be held for good.
    static let idleTimeoutSeconds: Int64 = 60

    let address: ListenAddress
    let health: HealthRegistry
    let metrics: PrometheusMetrics
    let logger: Logger
    /// Called with the port as soon as it listens.
    var onListening: @Sendable (Int) -> Void = { _ in }

    var description: String { "admin server" }

    func run() async throws {
        let application = Application(
            router: router(),
            server: .http1(configuration: .init(idleTimeout: .seconds(Self.idleTimeoutSeconds))),
            configuration: .init(
                address: .hostname(address.host, port: address.port),
                availableConnectionsDelegate: MaximumAvailableConnections(Self.connectionsMaximum)
            ),
            onServerRunning: { [logger, address, onListening] channel in
                let port = channel.localAddress?.port ?? address.port
                logger.info(
                    "admin server is listening",
                    metadata: .fields([.host: "\(address.host)", .port: .stringConvertible(port)]))
                onListening(port)
            },
            logger: logger.quieter()
        )
        try await application.run()
    }

    private func router() -> Router<BasicRequestContext> {
        let router = Router(options: .autoGenerateHeadEndpoints)
        router.add(middleware: HeadMiddleware())
        router.add(middleware: ProblemMiddleware())
        router.get("livez") { _, _ in
            Response(plainText: "alive\n")
        }
        router.get("readyz") { [health] _, _ in
            let report = await health.report()
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys]
            return Response(
                status: report.isReady ? .ok : .serviceUnavailable,
                headers: [.contentType: "application/json", .cacheControl: "no-store"],
                body: ResponseBody(byteBuffer: ByteBuffer(bytes: try encoder.encode(report)))
            )
        }
        router.get("metrics") { [metrics] _, _ in
            Response(plainText: metrics.render(), contentType: PrometheusText.contentType)
        }
        return router
    }
}

extension Response {
    fileprivate init(plainText: String, contentType: String = "text/plain; charset=utf-8") {
        self.init(
            status: .ok, headers: [.contentType: contentType, .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: plainText)))
    }
}

extension Logger {
    /// For libraries that tell at `info` what operators have been told already.
    func quieter() -> Logger {
        var logger = self
        if logger.logLevel > .debug { logger.logLevel = max(logger.logLevel, .warning) }
        return logger
    }
}
