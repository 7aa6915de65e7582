import Foundation

/// What a rule does to a request, checked and ready.
enum FaultAction: Sendable {
    /// The right answer, later.
    case latency(Latency)
    /// Another answer than the right one; the request is not carried out.
    case answer(FaultAnswer)
    /// The connection is reset instead of an answer.
    case reset(afterHandling: Bool)
    /// No answer at all, until ``FaultPause/Limit/hang`` is over.
    case hang(afterHandling: Bool)
    /// The first half of the right answer's body under the length of the whole, then the connection ends.
    case truncatedBody
    /// The right answer, said to be `text/html`.
    case wrongContentType
    /// The right answer, a few bytes at a time.
    case slowLoris(bytesPerSecond: Int)
    /// The right answer's status with a body that only looks like JSON.
    case garbageJSON
    /// The right answer's status and header fields without a body.
    case emptyBody
    /// 401 for so many milliseconds from the first time on.
    case unauthorizedStorm(milliseconds: Int64)
}

/// How late an answer is.
enum Latency: Sendable {
    /// Always so many milliseconds.
    case fixed(Int64)
    /// Log-normal, as waiting times are: `median` milliseconds, and so spread that 1 % exceed the 99th percentile.
    case logNormal(median: Double, sigma: Double)

    /// The 99th percentile of the standard normal distribution.
    private static let percentile99 = 2.326_347_874

    /// A log-normal distribution by two of its percentiles, in milliseconds; `p99` is at least `median`.
    static func logNormal(median: Double, p99: Double) -> Latency {
        .logNormal(median: median, sigma: log(p99 / median) / percentile99)
    }

    /// The next waiting time in milliseconds, at most ``FaultRule/Limit/latency``.
    func next(using generator: inout SeededGenerator) -> Int64 {
        switch self {
        case .fixed(let milliseconds): return milliseconds
        case .logNormal(let median, let sigma):
            // Box and Muller: two even numbers make a normal one; the first must not be zero.
            let first = 1 - Double.random(in: 0..<1, using: &generator)
            let second = Double.random(in: 0..<1, using: &generator)
            let normal = (-2 * log(first)).squareRoot() * cos(2 * .pi * second)
            return Int64(min(median * exp(sigma * normal), Double(FaultRule.Limit.latency)).rounded())
        }
    }
}
