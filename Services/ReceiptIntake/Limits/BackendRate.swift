import Synchronization

/// How often the backends of each app may post a proof, in this process: an app that goes wild costs the others little.
struct BackendRate: Sendable {
    enum Limit {
        /// This part of a minute's turns may come at once: a quarter of a second's.
        ///
        /// More would show in what others' purchases take.
        static let partAtOnce = 240
        /// So few may always come at once.
        static let alwaysAtOnce = 10
    }

    /// Proofs a minute, where the app's entry says nothing; 0 for no limit.
    let perMinute: Int
    private let ofApp: @Sendable (_ app: String) -> Int?
    private let holdMaximum: Duration
    private let turns = Turns()

    /// The turns of each app, or of the apps of one key; another number begins anew.
    private final class Turns: Sendable {
        let byApps = Mutex<[String: TurnRate<String>]>([:])
    }

    /// - Parameters:
    ///   - holdMaximum: how long one too many may be held.
    ///   - ofApp: what an app's entry says, by its bundle id; only apps that are configured are asked about.
    init(perMinute: Int, holdMaximum: Duration, ofApp: @escaping @Sendable (_ app: String) -> Int? = { _ in nil }) {
        self.perMinute = perMinute
        self.holdMaximum = holdMaximum
        self.ofApp = ofApp
    }

    /// The turns of a key's apps; nil where one of them has no limit.
    ///
    /// Which of several a request is about stands in its body, which is not read yet: the largest of their limits holds for all
    /// together.
    ///
    /// - Parameter apps: bundle ids, sorted.
    func turns(apps: [String]) -> TurnRate<String>? {
        let limits = apps.map { ofApp($0) ?? perMinute }
        guard let perMinute = limits.max(), !limits.contains(0) else { return nil }
        let name = Self.name(apps)
        return turns.byApps.withLock { turns in
            if let known = turns[name], known.perMinute == perMinute { return known }
            let new = TurnRate<String>(
                perMinute: perMinute, atOnce: max(Limit.alwaysAtOnce, perMinute / Limit.partAtOnce),
                holdMaximum: holdMaximum, keysMaximum: 1)
            turns[name] = new
            return new
        }
    }

    /// What the turns of a key's apps are known by.
    static func name(_ apps: [String]) -> String { apps.joined(separator: " ") }
}
