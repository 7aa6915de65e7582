import Foundation
import Hummingbird
import Logging
import NIOCore
import ServiceLifecycle
import UnixSignals

/// The three listeners of a simulator in one process: the control API, and Apple's two hosts.
///
/// They start together and stop together. Once all three can be called, `addresses.json` in the state folder says where.
struct Listeners: Service, CustomStringConvertible {
    /// What each of them answers with.
    struct Routers {
        let control: Router<BasicRequestContext>
        let production: Router<BasicRequestContext>
        let sandbox: Router<BasicRequestContext>
    }

    enum Limit {
        /// How long a stop may take until everything that is still under way is cancelled; more than
        /// connections get.
        static let stop = Duration.seconds(ConnectionServer.Limit.stopSeconds + 10)
    }

    let addresses: ListenerAddresses
    private let applications: [any ApplicationProtocol]
    private let folder: URL
    private let listening: AsyncStream<Void>
    private let logger: Logger
    private let onListening: @Sendable () -> Void

    /// The name in logs.
    var description: String { "listeners" }

    /// - Parameters:
    ///   - host: the address to listen on.
    ///   - ports: from ``ListenerPorts/init(host:control:production:sandbox:)``, none of them 0.
    ///   - folder: the state folder, which must exist.
    ///   - onListening: called once all three can be called and the file is written.
    init(
        host: String, ports: ListenerPorts, routers: Routers, folder: URL, logger: Logger,
        onListening: @escaping @Sendable () -> Void = {}
    ) {
        addresses = ListenerAddresses(host: host, ports: ports)
        self.folder = folder
        self.logger = logger
        self.onListening = onListening
        var quiet = logger
        // Each server tells at info what is told once for all below.
        quiet.logLevel = max(logger.logLevel, .notice)
        let (stream, listens) = AsyncStream.makeStream(of: Void.self)
        listening = stream
        let parts = [
            (routers.control, ports.control), (routers.production, ports.production), (routers.sandbox, ports.sandbox),
        ]
        applications = parts.map { [quiet] router, port in
            Application(
                router: router, server: ConnectionServer.make(),
                configuration: ApplicationConfiguration(address: .hostname(host, port: port)),
                onServerRunning: { _ in listens.yield() }, logger: quiet)
        }
    }

    /// Serves until graceful shutdown; requests under way are answered first, for a while.
    ///
    /// - Throws: ``ListenerError`` when a port is taken.
    func run() async throws {
        // Of one that was killed: whoever waits for the file must not read where that one was.
        try? FileManager.default.removeItem(at: folder.appendingPathComponent(ListenerAddresses.fileName))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for application in applications {
                group.addTask {
                    do {
                        try await application.run()
                    } catch let error as IOError {
                        let address = application.configuration.address
                        throw ListenerError(description: "cannot listen on \(address): \(error)")
                    }
                }
            }
            group.addTask { try await announce() }
            // Not waitForAll(), which would wait for the others when one has failed.
            while try await group.next() != nil {}
        }
    }

    /// Runs the listeners and other services until a signal, a service's failure, or graceful shutdown from outside.
    ///
    /// - Parameters:
    ///   - services: are started before the listeners and stopped after them, such as the timeline.
    ///   - signals: which stop everything; none in tests, for a process has one set of signal handlers.
    func run(with services: [any Service], stoppedBy signals: [UnixSignal] = [.sigterm, .sigint]) async throws {
        var configuration = ServiceGroupConfiguration(
            services: services + [self], gracefulShutdownSignals: signals, logger: logger)
        configuration.maximumGracefulShutdownDuration = Limit.stop
        try await ServiceGroup(configuration: configuration).run()
    }

    private func announce() async throws {
        var count = 0
        for await _ in listening {
            count += 1
            if count == applications.count { break }
        }
        guard count == applications.count else { return }
        try addresses.write(into: folder)
        logger.info(
            "listening",
            metadata: [
                "control": "\(addresses.control)", "production": "\(addresses.production)",
                "sandbox": "\(addresses.sandbox)",
            ])
        onListening()
    }
}
