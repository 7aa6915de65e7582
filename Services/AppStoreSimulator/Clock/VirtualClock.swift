import Foundation
import Synchronization

/// The store's time: it can be set, advanced, stopped, or run faster than ours.
///
/// Instants are milliseconds since 1970. Keeps no state over a restart by itself; the store does.
final class VirtualClock: Sendable {
    /// Where the clock stood at one instant of real time, and how fast it runs since.
    struct Setting: Codable, Sendable {
        /// Virtual milliseconds at ``realAnchor``.
        var virtualAnchor: Int64
        /// Real milliseconds.
        var realAnchor: Int64
        /// Virtual seconds in a real one; 0 stands still.
        var speed: Double

        func virtual(atReal real: Int64) -> Int64 {
            virtualAnchor + Int64(Double(max(0, real - realAnchor)) * speed)
        }
    }

    enum Limit {
        /// The fastest that a clock runs: a year in some five minutes.
        static let speed = 100_000.0
        /// The earliest instant: 2016-01-01, for certificates are valid from 2015 on.
        static let earliest: Int64 = 1_451_606_400_000
        /// The farthest that the clock may be ahead of ours: eight years, for leaves are valid for ten.
        static let ahead: Int64 = 8 * 365 * 86_400_000
    }

    private let setting: Mutex<Setting>
    private let real: @Sendable () -> Int64

    /// A clock that agrees with ours, or goes on as it was set.
    init(
        setting: Setting? = nil, real: @escaping @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1_000) }
    ) {
        self.real = real
        let now = real()
        self.setting = Mutex(setting ?? Setting(virtualAnchor: now, realAnchor: now, speed: 1))
    }

    /// The store's time now.
    var now: Int64 { setting.withLock { $0.virtual(atReal: real()) } }

    /// Our own time: for what real clients date themselves, such as tokens and rate limits.
    var realNow: Int64 { real() }

    var speed: Double { setting.withLock(\.speed) }

    var currentSetting: Setting { setting.withLock { $0 } }

    /// Sets the time, and the speed if it is given.
    func set(_ instant: Int64? = nil, speed: Double? = nil) {
        let now = real()
        setting.withLock { setting in
            setting = Setting(
                virtualAnchor: instant ?? setting.virtual(atReal: now), realAnchor: now, speed: speed ?? setting.speed)
        }
    }

    /// Goes on as it was kept.
    func restore(_ kept: Setting) {
        setting.withLock { $0 = kept }
    }

    /// How many real milliseconds pass until an instant; nil when the clock stands still.
    func realDelay(until instant: Int64) -> Int64? {
        let (now, speed) = setting.withLock { ($0.virtual(atReal: real()), $0.speed) }
        if instant <= now { return 0 }
        return speed > 0 ? Int64((Double(instant - now) / speed).rounded(.up)) : nil
    }
}
