import Foundation

/// How much came lately: a count that fades.
package struct RecentLoad: Sendable {
    package typealias Instant = ContinuousClock.Instant

    /// After this time something counts for a third of what it did.
    package static let fadingTime = Duration.milliseconds(50)

    private var recent = 0.0
    private var last: Instant?

    /// Nothing came yet.
    package init() {}

    /// Notes what comes.
    ///
    /// - Returns: what still counts of what came before; of so many a second, a twentieth.
    package mutating func note(_ count: Int, at now: Instant) -> Double {
        if let last { recent *= exp(-max(0, (now - last) / Self.fadingTime)) }
        last = now
        defer { recent += Double(count) }
        return recent
    }
}
