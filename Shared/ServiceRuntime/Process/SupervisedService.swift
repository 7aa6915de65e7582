import Logging
import ServiceLifecycle

/// A part that ended though nobody asked it to.
struct UnexpectedServiceEnd: Error, CustomStringConvertible {
    let component: String
    /// What it threw; `nil` when it returned.
    let cause: (any Error)?

    var description: String {
        guard let cause else { return "\(component) ended by itself" }
        return "\(component) failed: \(cause)"
    }
}

/// A part of the process whose unasked end stops the others gracefully.
///
/// `ServiceGroup` would either cancel the others at once, in the middle of their work, or count a part that returned
/// as a success. This wrapper makes every unasked end an error, for which the group is told to stop gracefully.
struct SupervisedService: Service {
    let service: any Service
    let component: String
    let logger: Logger

    init(_ service: any Service, logger: Logger) {
        self.service = service
        self.component =
            (service as? any CustomStringConvertible)?.description ?? String(describing: type(of: service))
        self.logger = logger
    }

    var configuration: ServiceGroupConfiguration.ServiceConfiguration {
        .init(
            service: self, successTerminationBehavior: .cancelGroup,
            failureTerminationBehavior: .gracefullyShutdownGroup, serviceName: component)
    }

    func run() async throws {
        do {
            try await service.run()
        } catch is CancellationError where Task.isCancelled || Task.isShuttingDownGracefully {
            return
        } catch {
            throw failed(error)
        }
        guard Task.isShuttingDownGracefully || Task.isCancelled else { throw failed(nil) }
    }

    private func failed(_ cause: (any Error)?) -> UnexpectedServiceEnd {
        let end = UnexpectedServiceEnd(component: component, cause: cause)
        logger.critical("a part of the process ended unexpectedly", metadata: .fields([.error: "\(end)"]))
        return end
    }
}

/// Learns first that a shutdown begins: it is the last service, and the last is the first to be told.
struct ShutdownAnnouncer: Service {
    let onShutdown: @Sendable () -> Void

    func run() async throws {
        // Cancellation is a shutdown as well, only a hasty one.
        try? await gracefulShutdown()
        onShutdown()
    }
}
