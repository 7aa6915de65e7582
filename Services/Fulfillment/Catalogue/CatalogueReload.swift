import Logging
import Metrics
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
    /// The file as it was last dealt with (its text, or why there was none): only what is new is read and told of.
    private let dealtWith = Mutex("")

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
    /// - Throws: `PostgresError`, when another catalogue cannot be numbered yet; the next look tries again.
    func look() async throws {
        let seen = Result { () throws(SettingsFileError) in try CatalogueFile.text(path: path) }
        let state = (try? seen.get()) ?? "\(seen)"
        guard dealtWith.withLock({ $0 }) != state else { return }
        do {
            try await use(try CatalogueFile.read(try seen.get(), path: path))
            mistaken.record(0)
        } catch let error as SettingsFileError {
            mistaken.record(1)
            logger.error("the catalogue is left as it was", metadata: ["error": "\(error)"])
        }
        dealtWith.withLock { $0 = state }
    }

    private func use(_ loaded: CatalogueFile.Loaded) async throws {
        guard loaded.text != (await current.text) else { return }
        let version = try await current.replace(with: loaded)
        logger.info("another catalogue is in use", metadata: ["version": "\(version)"])
    }
}
