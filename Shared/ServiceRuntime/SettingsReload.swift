package import Logging
import Metrics
import ServiceLifecycle
import Synchronization

/// Watches a settings file: what it says now is in use within seconds, without a restart; a mistake in it changes nothing.
///
/// What it says is used once two looks in a row agree on it: a file that is half written may say less, and be right.
///
/// Metric: `countersign_settings_file_mistaken`, label `file`.
package final class SettingsReload<Value: Sendable & Equatable>: Service, CustomStringConvertible {
    private struct State {
        var inUse: Value
        /// What the last look saw.
        var seen: Value
        /// The mistake that was told last: only what is new is told of.
        var toldMistake: String?
    }

    private let file: String
    private let interval: Duration
    private let logger: Logger
    private let mistaken: Gauge
    private let read: @Sendable () throws -> Value
    private let use: @Sendable (Value) async throws -> Void
    private let state: Mutex<State>

    /// - Parameters:
    ///   - file: which file it is, in logs and in the metric: `apps`.
    ///   - value: what is in use.
    ///   - interval: between looks.
    ///   - read: reads the file and the secrets that it names; throws a sentence for each mistake.
    ///   - use: has everybody use another value from now on. What it throws is a mistake in the file, too.
    package init(
        _ file: String, inUse value: Value, every interval: Duration, logger: Logger,
        read: @escaping @Sendable () throws -> Value, use: @escaping @Sendable (Value) async throws -> Void
    ) {
        self.file = file
        self.interval = interval
        self.logger = logger
        self.read = read
        self.use = use
        state = Mutex(State(inUse: value, seen: value))
        mistaken = Gauge(label: "countersign_settings_file_mistaken", dimensions: [("file", file)])
        mistaken.record(0)
    }

    package var description: String { "\(file) reload" }

    /// Looks at the file until graceful shutdown.
    package func run() async throws {
        try await PeriodicTask("\(file)-reload", schedule: .init(every: interval), logger: logger) {
            await self.look()
        }.run()
    }

    /// Looks once.
    package func look() async {
        do {
            let value = try read()
            let isNew = state.withLock { state in
                defer { state.seen = value }
                return state.inUse != value && state.seen == value
            }
            if isNew {
                try await use(value)
                state.withLock { $0.inUse = value }
                logger.info("another \(file) file is in use")
            }
            state.withLock { $0.toldMistake = nil }
            mistaken.record(0)
        } catch {
            mistaken.record(1)
            let sentence = "\(error)"
            let isNew = state.withLock { state in
                defer { state.toldMistake = sentence }
                return state.toldMistake != sentence
            }
            guard isNew else { return }
            logger.error(
                "the \(file) file has a mistake; what it said before stays in use",
                metadata: .fields([.error: "\(sentence)"]))
        }
    }
}

/// What its metric means, for the processes that watch a file.
package enum SettingsReloadMetrics {
    package static let families: [MetricFamily] = [
        .gauge(
            "countersign_settings_file_mistaken", ["file"],
            help: "1 while a settings file has a mistake, and what it said before is in use.")
    ]
}
