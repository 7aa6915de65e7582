import Foundation

/// How busy a producer is, from the messages that it was given lately: an average that fades.
struct ProducerLoad {
    typealias Instant = ContinuousClock.Instant

    /// After this time a message counts for a third of what it did.
    static let fadingTime = Duration.milliseconds(50)
    /// With fewer that count, nobody comes within the linger: 240 a second.
    static let quietMaximum = 12.0

    private var recent = 0.0
    private var last: Instant?

    /// Notes a send, and says whether there was little before it.
    mutating func isQuiet(sending count: Int, at now: Instant) -> Bool {
        if let last { recent *= exp(-max(0, (now - last) / Self.fadingTime)) }
        last = now
        defer { recent += Double(count) }
        return recent < Self.quietMaximum
    }
}
