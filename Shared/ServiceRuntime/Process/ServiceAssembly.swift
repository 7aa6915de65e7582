public import Configuration
public import Logging
public import ServiceLifecycle

/// Which process this is.
public struct ServiceIdentity: Sendable, Hashable {
    /// The name in logs and metrics, for example `receipt-intake`.
    public var name: String
    /// The version in logs and metrics.
    public var version: String
    /// The admin server's port when `COUNTERSIGN_ADMIN_PORT` is not set.
    public var adminPort: Int

    /// Names a process.
    ///
    /// - Parameters:
    ///   - name: The name in logs and metrics.
    ///   - version: The version in logs and metrics.
    ///   - adminPort: The admin server's port when none is configured. Default: 9400.
    public init(name: String, version: String, adminPort: Int = 9400) {
        self.name = name
        self.version = version
        self.adminPort = adminPort
    }
}

/// What the runtime hands to a process that assembles itself.
public struct ServiceContext: Sendable {
    /// Which process this is.
    public let identity: ServiceIdentity
    /// The configuration: environment over file.
    public let configuration: ConfigReader
    /// The same, read with types and errors an operator can act on.
    public let settings: SettingReader
    /// The process's logger; hand it, or copies with more fields, to everything.
    public let logger: Logger
    /// Where the parts say whether they can work.
    public let health: HealthRegistry
    /// The registry that swift-metrics already writes to; for numbers read at scrape time.
    public let metrics: PrometheusMetrics

    /// Makes a context; a test can do so too, and call the same assembly as the process.
    public init(
        identity: ServiceIdentity, configuration: ConfigReader, logger: Logger,
        health: HealthRegistry = HealthRegistry(), metrics: PrometheusMetrics = PrometheusMetrics()
    ) {
        self.identity = identity
        self.configuration = configuration
        self.settings = SettingReader(configuration)
        self.logger = logger
        self.health = health
        self.metrics = metrics
    }
}

/// The long-running parts of a process, in start order: each may use those before it.
///
/// They are stopped in reverse, one after the other, each when the one after it has ended.
public struct ServiceAssembly: Sendable {
    /// The parts in start order.
    public var services: [any Service]

    /// Lists the parts in start order.
    public init(services: [any Service]) {
        self.services = services
    }
}
