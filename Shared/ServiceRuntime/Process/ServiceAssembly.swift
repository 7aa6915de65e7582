import BuildVersion
package import Configuration
package import Logging
package import ServiceLifecycle

/// Which process this is.
package struct ServiceIdentity: Sendable, Hashable {
    /// The name in logs and metrics, for example `receipt-intake`.
    package var name: String
    /// The version in logs and metrics.
    package var version: String
    /// The admin server's port when `COUNTERSIGN_ADMIN_PORT` is not set.
    package var adminPort: Int

    /// Names a process.
    ///
    /// - Parameters:
    ///   - name: The name in logs and metrics.
    ///   - version: The version in logs and metrics. Default: that of this build.
    ///   - adminPort: The admin server's port when none is configured. Default: 9400.
    package init(name: String, version: String = CountersignVersion.number, adminPort: Int = 9400) {
        self.name = name
        self.version = version
        self.adminPort = adminPort
    }
}

/// What the runtime hands to a process that assembles itself.
package struct ServiceContext: Sendable {
    /// Which process this is.
    package let identity: ServiceIdentity
    /// The configuration: environment over file.
    package let configuration: ConfigReader
    /// The same, read with types and errors an operator can act on.
    package let settings: SettingReader
    /// The process's logger; hand it, or copies with more fields, to everything.
    package let logger: Logger
    /// Where the parts say whether they can work.
    package let health: HealthRegistry
    /// The registry that swift-metrics already writes to; for numbers read at scrape time.
    package let metrics: PrometheusMetrics

    /// Makes a context; a test can do so too, and call the same assembly as the process.
    package init(
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
package struct ServiceAssembly: Sendable {
    /// The parts in start order.
    package var services: [any Service]

    /// Lists the parts in start order.
    package init(services: [any Service]) {
        self.services = services
    }
}
