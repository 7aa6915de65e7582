import CoreMetrics
import Synchronization

/// One series that can write itself into a page.
protocol MetricSeries: AnyObject, Sendable {
    func append(to text: inout PrometheusText, name: String, labels: [MetricLabel])
}

/// A number that only grows.
///
/// Whole and fractional parts are kept apart, so that the usual case is one atomic addition.
final class CounterSeries: MetricSeries, CounterHandler, FloatingPointCounterHandler {
    private let whole = Atomic<Int64>(0)
    private let fraction = AtomicDouble()

    func increment(by amount: Int64) {
        guard amount > 0 else { return }
        whole.wrappingAdd(amount, ordering: .relaxed)
    }

    func increment(by amount: Double) {
        guard amount.isFinite, amount > 0 else { return }
        fraction.add(amount)
    }

    func reset() {
        whole.store(0, ordering: .relaxed)
        fraction.set(0)
    }

    func append(to text: inout PrometheusText, name: String, labels: [MetricLabel]) {
        text.append(name, labels, Double(whole.load(ordering: .relaxed)) + fraction.value)
    }
}

/// A number that goes up and down.
final class GaugeSeries: MetricSeries, MeterHandler, RecorderHandler {
    private let number = AtomicDouble()

    func set(_ value: Int64) { number.set(Double(value)) }
    func set(_ value: Double) { number.set(value) }
    func record(_ value: Int64) { number.set(Double(value)) }
    func record(_ value: Double) { number.set(value) }
    func increment(by amount: Double) { if amount.isFinite { number.add(amount) } }
    func decrement(by amount: Double) { if amount.isFinite { number.add(-amount) } }

    func append(to text: inout PrometheusText, name: String, labels: [MetricLabel]) {
        text.append(name, labels, number.value)
    }
}

/// A distribution over fixed buckets.
///
/// The lock is held for a few additions.
final class HistogramSeries: MetricSeries, RecorderHandler, TimerHandler {
    private struct State {
        var counts: [UInt64]
        var sum = 0.0
    }

    /// The buckets' upper bounds, rising; one more bucket takes the rest.
    private let bounds: [Double]
    private let state: Mutex<State>

    init(bounds: [Double]) {
        self.bounds = bounds
        self.state = Mutex(State(counts: Array(repeating: 0, count: bounds.count + 1)))
    }

    func record(_ value: Int64) { record(Double(value)) }

    func record(_ value: Double) {
        guard value.isFinite else { return }
        let index = bounds.firstIndex { value <= $0 } ?? bounds.count
        state.withLock { state in
            state.counts[index] += 1
            state.sum += value
        }
    }

    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }

    func append(to text: inout PrometheusText, name: String, labels: [MetricLabel]) {
        let (counts, sum) = state.withLock { ($0.counts, $0.sum) }
        var total: UInt64 = 0
        for (index, count) in counts.enumerated() {
            total += count
            let bound = index < bounds.count ? PrometheusText.number(bounds[index]) : "+Inf"
            text.append("\(name)_bucket", labels, extra: MetricLabel(name: "le", value: bound), Double(total))
        }
        text.append("\(name)_sum", labels, sum)
        text.append("\(name)_count", labels, Double(total))
    }
}

/// A floating-point number that threads may change without a lock.
final class AtomicDouble: Sendable {
    private let bits = Atomic<UInt64>(0)

    var value: Double { Double(bitPattern: bits.load(ordering: .relaxed)) }

    func set(_ value: Double) {
        bits.store(value.bitPattern, ordering: .relaxed)
    }

    func add(_ amount: Double) {
        var old = bits.load(ordering: .relaxed)
        while true {
            let new = (Double(bitPattern: old) + amount).bitPattern
            let (exchanged, current) = bits.weakCompareExchange(expected: old, desired: new, ordering: .relaxed)
            if exchanged { return }
            old = current
        }
    }
}
