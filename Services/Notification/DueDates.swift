/// When the next delivery of each endpoint falls due that was put off, as far as this process knows.
struct DueDates {
    private var next: [String: ContinuousClock.Instant] = [:]

    /// When the first of them falls due; nil where none is known.
    var first: ContinuousClock.Instant? { next.values.min() }

    /// A delivery of an endpoint falls due then.
    mutating func putOff(_ id: String, until instant: ContinuousClock.Instant) {
        next[id] = min(next[id] ?? instant, instant)
    }

    /// Takes the endpoints of which one has fallen due; when their next one does is not known then.
    mutating func takeRipe(now: ContinuousClock.Instant) -> [String] {
        let ripe = next.filter { $0.value <= now }.map(\.key)
        for id in ripe { next[id] = nil }
        return ripe
    }

    /// Forgets all other endpoints.
    mutating func keep(_ ids: [String]) {
        next = next.filter { ids.contains($0.key) }
    }
}
