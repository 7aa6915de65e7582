package import CoreMetrics
import Synchronization

/// swift-metrics' factory for all processes; `/metrics` renders it.
///
/// What becomes what: counters end in `_total`; timers are histograms in seconds and end in `_seconds`; recorders are
/// histograms, or gauges when they do not aggregate; meters are gauges. Full stops in names become underscores.
/// `describe(_:)` says what they mean. Handlers of the same name and labels are the same series. The registry is locked
/// only while a handler is made or a page rendered, so keep handlers where they are used often.
package final class PrometheusMetrics: MetricsFactory {
    /// The most series kept.
    ///
    /// Beyond it (an unbounded label) new ones record into nothing, and
    /// `countersign_metrics_refused_total` counts them. Default: 4,000.
    package static let seriesMaximumDefault = 4000
    /// Upper bounds of a timer's buckets, in seconds: from a database row to Apple's slowest answer.
    package static let timerBuckets: [Double] = [
        0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
    ]
    /// Upper bounds of a recorder's buckets: batch sizes and byte counts.
    package static let recorderBuckets: [Double] = [
        1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 100_000, 1_000_000,
    ]
    /// The name under which handlers that found no place are counted.
    static let refusedName = "countersign_metrics_refused_total"
    /// The name under which the series that are kept are counted.
    static let seriesName = "countersign_metrics_series"

    struct Family {
        let kind: MetricKind
        var series: [[MetricLabel]: any MetricSeries] = [:]
    }

    private struct State {
        var families: [String: Family] = [:]
        var seriesCount = 0
        var collectors: [@Sendable () -> [GaugeSample]] = []
        var help: [String: String] = [:]
    }

    private let seriesMaximum: Int
    private let refused = CounterSeries()
    private let state = Mutex(State())

    /// Makes an empty registry.
    ///
    /// - Parameter seriesMaximum: The most series kept. Default: ``seriesMaximumDefault``.
    package init(seriesMaximum: Int = seriesMaximumDefault) {
        self.seriesMaximum = seriesMaximum
        describe(RuntimeMetrics.families)
    }

    /// Says what families mean: the lines of HELP on the page.
    ///
    /// A family may be described before it has a series, which is when it is first on the page; of two descriptions of
    /// one name the later one holds.
    package func describe(_ families: [MetricFamily]) {
        state.withLock { state in
            for family in families { state.help[family.name] = family.help }
        }
    }

    /// Adds a source of numbers that are read when a page is rendered, for what is cheaper to look up than to keep.
    ///
    /// - Parameter body: Must return soon and not block: it runs for every scrape.
    package func onScrape(_ body: @escaping @Sendable () -> [GaugeSample]) {
        state.withLock { $0.collectors.append(body) }
    }

    /// The page of all series, in the Prometheus text format 0.0.4.
    package func render() -> String {
        var (families, collectors, help) = state.withLock { ($0.families, $0.collectors, $0.help) }
        let ownCount = families.values.reduce(0) { $0 + $1.series.count }
        var room = seriesMaximum
        for sample in collectors.flatMap({ $0() }) {
            guard room > 0 else {
                refused.increment(by: Int64(1))
                continue
            }
            room -= 1
            Self.add(sample, to: &families)
        }
        families[Self.refusedName] = Family(kind: .counter, series: [[]: refused])
        var text = PrometheusText()
        for (name, family) in families.sorted(by: { $0.key < $1.key }) {
            text.appendHead(name, family.kind, help: help[name])
            for (labels, series) in family.series.sorted(by: { Self.precedes($0.key, $1.key) }) {
                series.append(to: &text, name: name, labels: labels)
            }
        }
        text.appendHead(Self.seriesName, .gauge, help: help[Self.seriesName])
        text.append(Self.seriesName, [], Double(ownCount))
        return text.text
    }

    private static func add(_ sample: GaugeSample, to families: inout [String: Family]) {
        let kind: MetricKind = sample.isCounter ? .counter : .gauge
        let name = MetricName.metric(sample.name, ending: sample.isCounter ? "_total" : "")
        // A name that something else already uses with another type would make the whole page unreadable.
        guard families[name, default: Family(kind: kind)].kind == kind else { return }
        let series = SampleSeries(value: sample.value)
        families[name, default: Family(kind: kind)].series[MetricName.labels(sample.labels)] = series
    }

    private static func precedes(_ left: [MetricLabel], _ right: [MetricLabel]) -> Bool {
        left.lexicographicallyPrecedes(right) { ($0.name, $0.value) < ($1.name, $1.value) }
    }

    private func series<Series: MetricSeries>(
        _ kind: MetricKind, _ name: String, _ dimensions: [(String, String)], make: () -> Series
    ) -> Series {
        let labels = MetricName.labels(dimensions)
        return state.withLock { state in
            if let family = state.families[name] {
                if let known = family.series[labels] as? Series { return known }
                guard family.kind == kind, family.series[labels] == nil else { return refuse(make()) }
            }
            guard state.seriesCount < seriesMaximum, name != Self.refusedName else { return refuse(make()) }
            let series = make()
            state.families[name, default: Family(kind: kind)].series[labels] = series
            state.seriesCount += 1
            return series
        }
    }

    private func refuse<Series: MetricSeries>(_ series: Series) -> Series {
        refused.increment(by: Int64(1))
        return series
    }

    private func remove(_ handler: AnyObject) {
        state.withLock { state in
            for (name, family) in state.families {
                guard let labels = family.series.first(where: { $0.value === handler })?.key else { continue }
                state.families[name]?.series[labels] = nil
                if state.families[name]?.series.isEmpty == true { state.families[name] = nil }
                state.seriesCount -= 1
                return
            }
        }
    }
}

extension PrometheusMetrics {
    /// The counter of that name and labels.
    package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        series(.counter, MetricName.metric(label, ending: "_total"), dimensions) { CounterSeries() }
    }

    /// The counter of that name and labels; the same as the whole-number one.
    package func makeFloatingPointCounter(
        label: String, dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler {
        series(.counter, MetricName.metric(label, ending: "_total"), dimensions) { CounterSeries() }
    }

    /// The gauge of that name and labels.
    package func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        series(.gauge, MetricName.metric(label), dimensions) { GaugeSeries() }
    }

    /// The histogram of that name and labels, or the gauge when it does not aggregate.
    package func makeRecorder(
        label: String, dimensions: [(String, String)], aggregate: Bool
    ) -> any RecorderHandler {
        let name = MetricName.metric(label)
        guard aggregate else { return series(.gauge, name, dimensions) { GaugeSeries() } }
        return series(.histogram, name, dimensions) { HistogramSeries(bounds: Self.recorderBuckets) }
    }

    /// The histogram in seconds of that name and labels.
    package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        series(.histogram, MetricName.metric(label, ending: "_seconds"), dimensions) {
            HistogramSeries(bounds: Self.timerBuckets)
        }
    }

    /// Forgets the series.
    package func destroyCounter(_ handler: any CounterHandler) { remove(handler) }
    /// Forgets the series.
    package func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) { remove(handler) }
    /// Forgets the series.
    package func destroyMeter(_ handler: any MeterHandler) { remove(handler) }
    /// Forgets the series.
    package func destroyRecorder(_ handler: any RecorderHandler) { remove(handler) }
    /// Forgets the series.
    package func destroyTimer(_ handler: any TimerHandler) { remove(handler) }
}
