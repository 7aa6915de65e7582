import BuildVersion
import Configuration
import Foundation
import Logging
import Metrics
import ServiceLifecycle
import UnixSignals

/// The life of a process, the same for every service: configure, assemble, run, stop.
///
/// ```swift
/// @main struct Main {
///     static func main() async {
///         await ServiceProcess.run(ServiceIdentity(name: "fulfillment", adminPort: 9402)) { context in
///             try await assembly(context)
///         }
///     }
/// }
/// ```
///
/// | key | variable | meaning | default |
/// |---|---|---|---|
/// | `admin.host` | `COUNTERSIGN_ADMIN_HOST` | where `/livez`, `/readyz`, `/metrics` listen | `127.0.0.1` |
/// | `admin.port` | `COUNTERSIGN_ADMIN_PORT` | their port, 0 for any | the identity's, plus the instance |
/// | `instance` | `COUNTERSIGN_INSTANCE` | which of several such processes on one machine, from 1 | 0 |
/// | `shutdown.timeout` | `COUNTERSIGN_SHUTDOWN_TIMEOUT` | seconds a graceful stop may take | 25 |
///
/// and `log.format`, `log.level`, `log.priorities` (see the README). Exit codes: see ``ExitCode``. The only argument is
/// `--version`. Under systemd (`$NOTIFY_SOCKET`) it is told of readiness, of life and of the stop.
package enum ServiceProcess {
    /// How a process ends, in the numbers of sysexits.h.
    package enum ExitCode: Int32, Sendable {
        /// After a graceful stop (SIGTERM, SIGINT).
        case success = 0
        /// A configuration mistake; nothing has run.
        case configuration = 64
        /// A part ended unexpectedly, or the graceful stop took too long.
        case unexpected = 70
    }

    /// How long a graceful stop may take by default: below the 30 s after which orchestrators kill.
    package static let shutdownTimeoutDefault = Duration.seconds(25)

    /// The most processes of a kind on one machine: their admin ports follow each other.
    static let instanceMaximum = 80

    /// Runs the process to its end and exits with its code.
    ///
    /// - Parameters:
    ///   - identity: Which process this is.
    ///   - assemble: Makes the parts. A ``ConfigurationMistake`` it throws means exit code 64, any other error 70.
    package static func run(
        _ identity: ServiceIdentity, assemble: @escaping @Sendable (ServiceContext) async throws -> ServiceAssembly
    ) async -> Never {
        if let answer = answer(to: ProcessInfo.processInfo.arguments, identity) {
            (answer.code == .success ? FileHandle.standardOutput : .standardError).write(Data(answer.text.utf8))
            exit(answer.code.rawValue)
        }
        // A peer that goes away must be an error of that write, not the end of the process.
        signal(SIGPIPE, SIG_IGN)
        let code: ExitCode
        do {
            let configuration = try await ConfigurationSources.reader(environment: ProcessInfo.processInfo.environment)
            let logSettings = try LogSettings(SettingReader(configuration))
            LoggingSystem.bootstrap(
                { label, provider in
                    LineLogHandler(
                        label: label, service: identity.name, settings: logSettings, metadataProvider: provider)
                }, metadataProvider: nil)
            let metrics = PrometheusMetrics()
            MetricsSystem.bootstrap(metrics)
            let context = ServiceContext(
                identity: identity, configuration: configuration, logger: logSettings.logger(identity),
                metrics: metrics)
            let notifier = SystemdNotifier(environment: ProcessInfo.processInfo.environment)
            code = await run(context, notifier: notifier, assemble: assemble)
        } catch {
            LogSettings.initial().logger(identity).critical("\(error.description)")
            code = .configuration
        }
        exit(code.rawValue)
    }

    /// What a command line with arguments gets to read, and how the process ends; nil for one without, which runs it.
    static func answer(to arguments: [String], _ identity: ServiceIdentity) -> (text: String, code: ExitCode)? {
        let arguments = Array(arguments.dropFirst())
        guard !arguments.isEmpty else { return nil }
        guard arguments != ["--version"] else {
            return ("\(identity.name) \(CountersignVersion.text)\n", .success)
        }
        return ("\(identity.name) takes no argument but --version: the environment configures it\n", .configuration)
    }

    /// Runs the process in a context that is already there.
    ///
    /// - Parameters:
    ///   - context: What the parts are assembled with.
    ///   - notifier: Where systemd listens; nil when it does not run this process.
    ///   - onAdminListening: Called with the admin server's port.
    ///   - onDeadline: Called when the graceful stop takes too long; ends the process.
    ///   - assemble: Makes the parts.
    static func run(
        _ context: ServiceContext, notifier: SystemdNotifier? = nil,
        onAdminListening: @escaping @Sendable (Int) -> Void = { _ in },
        onDeadline: @escaping @Sendable () -> Void = { _exit(ExitCode.unexpected.rawValue) },
        assemble: @Sendable (ServiceContext) async throws -> ServiceAssembly
    ) async -> ExitCode {
        let logger = context.logger
        let admin: AdminServer
        let timeout: Duration
        let assembly: ServiceAssembly
        do {
            timeout = try context.settings.duration("shutdown.timeout", default: shutdownTimeoutDefault)
            let instance = try context.settings.int("instance", default: 0, in: 0...instanceMaximum)
            admin = AdminServer(
                address: try context.settings.listenAddress("admin", port: context.identity.adminPort + instance),
                health: context.health, metrics: context.metrics, logger: logger, onListening: onAdminListening)
            assembly = try await assemble(context)
        } catch let mistake as any ConfigurationMistake {
            logger.critical("\(mistake.description)")
            return .configuration
        } catch {
            logger.critical("the process could not be assembled", metadata: .fields([.error: "\(error)"]))
            return .unexpected
        }
        registerMetrics(context)
        let deadline = ShutdownDeadline(timeout: timeout) {
            logger.critical(
                "graceful shutdown took too long, the process ends now",
                metadata: .fields([.duration: "\(timeout)"]))
            onDeadline()
        }
        let announcer = ShutdownAnnouncer { [health = context.health] in
            health.beginShutdown()
            notifier?.send([.stopping, .status("stopping")])
            deadline.start()
            logger.info("stopping")
        }
        logger.info("starting", metadata: .fields([.version: "\(context.identity.version)"]))
        let reporters = notifier.map { [SystemdReporter(notifier: $0, health: context.health, logger: logger)] } ?? []
        let code = await runGroup([admin] + reporters + assembly.services + [announcer], logger: logger)
        deadline.finish()
        logger.info("stopped", metadata: .fields([.status: .stringConvertible(code.rawValue)]))
        return code
    }

    private static func runGroup(_ services: [any Service], logger: Logger) async -> ExitCode {
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: services.map { SupervisedService($0, logger: logger).configuration },
                gracefulShutdownSignals: [.sigterm, .sigint], logger: logger.quieter()))
        do {
            try await group.run()
            return .success
        } catch is CancellationError {
            return .success
        } catch is UnexpectedServiceEnd {
            // The part has told the reason itself, when it happened.
            return .unexpected
        } catch {
            logger.critical("the process ended unexpectedly", metadata: .fields([.error: "\(error)"]))
            return .unexpected
        }
    }

    private static func registerMetrics(_ context: ServiceContext) {
        let identity = context.identity
        let start = Date().timeIntervalSince1970
        context.metrics.onScrape {
            let labels = [("service", identity.name), ("version", identity.version)]
            return [
                GaugeSample("countersign_build_info", labels: labels, 1),
                GaugeSample("process_start_time_seconds", start),
            ] + ProcessMetrics.samples()
        }
    }
}
