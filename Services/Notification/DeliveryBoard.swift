/// Which endpoints may be sent how much now; the delivery loop's memory, without a clock or a database of its own.
struct DeliveryBoard {
    /// The endpoints that there are.
    private(set) var endpointIds: [String]
    private let perEndpointMaximum: Int
    private let maximum: Int
    private var inFlight: [String: Int] = [:]
    private var inFlightInAll = 0
    private var mayHaveDue: Set<String>
    private var disabled: Set<String> = []
    private var pausedUntil: [String: ContinuousClock.Instant] = [:]
    private var turn = 0

    /// At first every endpoint may have something due.
    ///
    /// - Parameters:
    ///   - perEndpointMaximum: attempts at a time to one endpoint.
    ///   - maximum: attempts at a time in all.
    init(endpointIds: [String], perEndpointMaximum: Int, maximum: Int) {
        self.endpointIds = endpointIds
        self.perEndpointMaximum = perEndpointMaximum
        self.maximum = maximum
        mayHaveDue = Set(endpointIds)
    }

    /// Whether no attempt is under way.
    var isIdle: Bool { inFlightInAll == 0 }

    /// How many attempts to an endpoint may begin now.
    func room(for id: String) -> Int {
        max(0, min(perEndpointMaximum - inFlight[id, default: 0], maximum - inFlightInAll))
    }

    /// There are these endpoints now; those that are new may have something due.
    mutating func follow(_ ids: [String]) {
        mayHaveDue.formUnion(Set(ids).subtracting(endpointIds))
        mayHaveDue.formIntersection(ids)
        endpointIds = ids
    }

    /// Endpoints may have something due.
    mutating func look(at ids: some Sequence<String>) {
        mayHaveDue.formUnion(ids)
    }

    /// Every endpoint may have something due.
    mutating func lookEverywhere() {
        mayHaveDue = Set(endpointIds)
    }

    /// These endpoints are switched off, and no others.
    mutating func disable(only ids: Set<String>) {
        disabled = ids
    }

    /// This endpoint is switched off.
    mutating func disable(_ id: String) {
        disabled.insert(id)
    }

    /// An endpoint asked to be left alone.
    mutating func pause(_ id: String, until instant: ContinuousClock.Instant) {
        pausedUntil[id] = max(pausedUntil[id] ?? instant, instant)
    }

    /// Endpoints to take due deliveries for, another one first in each round, so that none is always last.
    mutating func nextToClaim(now: ContinuousClock.Instant) -> [String] {
        guard !endpointIds.isEmpty else { return [] }
        turn = (turn + 1) % endpointIds.count
        let order = endpointIds[turn...] + endpointIds[..<turn]
        return order.filter { mayHaveDue.contains($0) && isOpen($0, now: now) }
    }

    /// Endpoints that could be sent something if it were due: what the loop may sleep for.
    func open(now: ContinuousClock.Instant) -> [String] {
        endpointIds.filter { isOpen($0, now: now) }
    }

    /// Deliveries were taken, and their attempts begin.
    mutating func claimed(_ id: String, count: Int, limit: Int) {
        inFlight[id, default: 0] += count
        inFlightInAll += count
        if count < limit { mayHaveDue.remove(id) }
    }

    /// An attempt has ended.
    mutating func finished(_ id: String) {
        inFlight[id, default: 0] -= 1
        inFlightInAll -= 1
    }

    private func isOpen(_ id: String, now: ContinuousClock.Instant) -> Bool {
        !disabled.contains(id) && pausedUntil[id].map { $0 <= now } ?? true && room(for: id) > 0
    }
}
