/// How long something took, over many times, in milliseconds.
struct Percentiles: Codable, Sendable, Equatable {
    let count: Int
    let p50: Double
    let p95: Double
    let p99: Double
    let max: Double

    /// By the nearest rank, so that every figure is one that was measured; nil without samples.
    init?(_ samples: [Double]) {
        let sorted = samples.sorted()
        guard let last = sorted.last else { return nil }
        func rank(_ share: Double) -> Double {
            sorted[Swift.max(0, Int((share * Double(sorted.count)).rounded(.up)) - 1)]
        }
        count = sorted.count
        p50 = rank(0.5)
        p95 = rank(0.95)
        p99 = rank(0.99)
        max = last
    }
}
