/// One number read at the time of a scrape.
package struct GaugeSample: Sendable {
    /// The metric's name; full stops become underscores.
    package var name: String
    /// The series' labels.
    package var labels: [(String, String)]
    /// The number.
    package var value: Double
    /// Whether the number only ever grows; its name then ends in `_total`.
    package var isCounter: Bool

    /// A number that goes up and down.
    package init(_ name: String, labels: [(String, String)] = [], _ value: Double) {
        self.init(name: name, labels: labels, value: value, isCounter: false)
    }

    /// A number that only ever grows since the process started.
    package static func counter(_ name: String, labels: [(String, String)] = [], _ value: Double) -> GaugeSample {
        GaugeSample(name: name, labels: labels, value: value, isCounter: true)
    }

    private init(name: String, labels: [(String, String)], value: Double, isCounter: Bool) {
        self.name = name
        self.labels = labels
        self.value = value
        self.isCounter = isCounter
    }
}

/// A sample on its page.
final class SampleSeries: MetricSeries {
    private let value: Double

    init(value: Double) {
        self.value = value
    }

    func append(to text: inout PrometheusText, name: String, labels: [MetricLabel]) {
        text.append(name, labels, value)
    }
}
