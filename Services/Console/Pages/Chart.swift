/// Bars by time, drawn by the server; the same numbers are in the table below it.
struct Chart: Shown {
    struct Bar: Shown {
        let x: String
        let y: String
        let width: String
        let height: String
        /// What a screen reader and a pointer are told: the day and the number.
        let title: String
    }

    enum Size {
        static let width = 720.0
        static let height = 160.0
    }

    let heading: String
    /// What it says, in a sentence.
    let summary: String
    let bars: [Bar]
    let width = Int(Size.width)
    let height = Int(Size.height)
    let first: String
    let last: String

    /// - Parameter values: in order of time, each with its name and how the number is written.
    init(heading: String, summary: String, values: [(name: String, value: Int64, text: String)]) {
        self.heading = heading
        self.summary = summary
        let most = Double(max(1, values.map(\.value).max() ?? 1))
        let step = Size.width / Double(max(1, values.count))
        bars = values.enumerated().map { place, entry in
            let height = Size.height * Double(max(0, entry.value)) / most
            return Bar(
                x: Self.text(Double(place) * step), y: Self.text(Size.height - height), width: Self.text(step * 0.8),
                height: Self.text(height), title: "\(entry.name): \(entry.text)")
        }
        (first, last) = (values.first?.name ?? "", values.last?.name ?? "")
    }

    private static func text(_ number: Double) -> String { String((number * 10).rounded() / 10) }
}
