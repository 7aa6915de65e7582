import Logging
import Metrics
import PurchaseModel
import ServiceLifecycle
import ServiceRuntime
import Synchronization

/// The use case: a changed catalogue file is in use within seconds, without a restart; a mistake in it changes nothing.
final class CatalogueReload: Service {
    private let path: String
    private let interval: Duration
    private let current: CurrentCatalogue
    private let logger: Logger
    private let mistaken = Gauge(label: "countersign_catalogue_mistaken")
    /// What was told of the file's last state: each is told once, not at every look.
    private let told = Mutex("")

    /// - Parameters:
    ///   - path: the file.
    ///   - interval: between looks.
    ///   - current: what is in use.
    init(path: String, every interval: Duration, current: CurrentCatalogue, logger: Logger) {
        self.path = path
        self.interval = interval
        self.current = current
        self.logger = logger
    }

    /// Looks at the file until graceful shutdown.
    func run() async throws {
        try await PeriodicTask("catalogue-reload", schedule: .init(every: interval), logger: logger) {
            try await self.look()
        }.run()
    }

    /// Looks once.
    ///
    /// - Throws: `PostgresError`, when another catalogue cannot be numbered yet; it is in use as soon as it can.
    func look() async throws {
        do {
            let loaded = try CatalogueFile.load(path: path)
            mistaken.record(0)
            guard loaded.text != (await current.text) else { return }
            await current.replace(with: loaded)
            let version = try await current.current().version
            logger.info("another catalogue is in use", metadata: ["version": "\(version ?? 0)"])
        } catch let error as SettingsFileError {
            mistaken.record(1)
            let isNew = told.withLock { told in
                defer { told = error.description }
                return told != error.description
            }
            if isNew { logger.error("the catalogue is left as it was", metadata: ["error": "\(error)"]) }
        }
    }
}
