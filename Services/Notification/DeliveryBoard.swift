/// Which endpoints may be sent how much now; the memory of ``DeliveryQueue``, without a clock or a database of its own.
struct DeliveryBoard {
    /// The endpoints that there are.
    private(set) var endpointIds: [String] = []
    private let perEndpointMaximum: Int
    private let maximum: Int
    private let unrecordedMaximum: Int
    private var inFlight: [String: Int] = [:]
    private var inFlightInAll = 0
    private var unrecorded = 0
    private var mayHaveDue: Set<String> = []
    private var disabled: Set<String> = []
    private var pausedUntil: [String: ContinuousClock.Instant] = [:]
    private var turn = 0
    private var phase = Phase.new

    /// New events may be attempted at once only while the loop runs, and not after it was told to stop.
    private enum Phase { case new, running, stopping }

    /// Of no endpoints yet.
    ///
    /// - Parameters:
    ///   - perEndpointMaximum: attempts at a time to one endpoint.
    ///   - maximum: attempts at a time in all.
    ///   - unrecordedMaximum: ended attempts that are not recorded yet; while there are as many nothing begins.
    init(perEndpointMaximum: Int, maximum: Int, unrecordedMaximum: Int) {
        self.perEndpointMaximum = perEndpointMaximum
        self.maximum = maximum
        self.unrecordedMaximum = unrecordedMaximum
    }

    /// Whether no attempt is under way, and no room is reserved for one.
    var isIdle: Bool { inFlightInAll == 0 }

    /// How many attempts to an endpoint may begin now.
    func room(for id: String) -> Int {
        guard unrecorded < unrecordedMaximum else { return 0 }
        return max(0, min(perEndpointMaximum - inFlight[id, default: 0], maximum - inFlightInAll))
    }

    /// There are these endpoints now; those that are new may have something due.
    mutating func follow(_ ids: [String]) {
        mayHaveDue.formUnion(Set(ids).subtracting(endpointIds))
        mayHaveDue.formIntersection(ids)
        endpointIds = ids
    }

    /// New events may be attempted at once from now on, unless it was stopped.
    mutating func start() {
        if phase == .new { phase = .running }
    }

    /// No room is reserved any more.
    mutating func stop() {
        phase = .stopping
    }

    /// Endpoints may have something due.
    mutating func look(at ids: some Sequence<String>) {
        mayHaveDue.formUnion(ids)
        mayHaveDue.formIntersection(endpointIds)
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

    /// When the first pause ends of an endpoint that may have something due; nil when none does.
    func pauseEnd(now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        mayHaveDue.compactMap { pausedUntil[$0] }.filter { $0 > now }.min()
    }

    /// Takes room for an attempt of a new event.
    ///
    /// What waits comes first: there is no room for a new event while its endpoint may have something due, nor while
    /// another endpoint's turn would come if there were more room in all.
    ///
    /// - Returns: whether there was room; ``finished(_:isRecorded:)`` gives it back.
    mutating func reserve(_ id: String, now: ContinuousClock.Instant) -> Bool {
        guard phase == .running, endpointIds.contains(id), !mayHaveDue.contains(id), isOpen(id, now: now),
            !mayHaveDue.contains(where: { waitsForItsTurn($0, now: now) })
        else { return false }
        add(id, 1)
        return true
    }

    /// Endpoints to take due deliveries for, another one first in each round, so that none is always last.
    mutating func nextToClaim(now: ContinuousClock.Instant) -> [String] {
        guard !endpointIds.isEmpty else { return [] }
        turn = (turn + 1) % endpointIds.count
        let order = endpointIds[turn...] + endpointIds[..<turn]
        return order.filter { mayHaveDue.contains($0) && isOpen($0, now: now) }
    }

    /// Takes all the room of an endpoint, for what a claim will find.
    ///
    /// What becomes due from here on is looked for again: the claim may not see it any more.
    mutating func beginClaim(_ id: String) -> Int {
        let room = room(for: id)
        guard room > 0 else { return 0 }
        add(id, room)
        mayHaveDue.remove(id)
        return room
    }

    /// A claim has found as much as this, whose attempts begin; the rest of the room is given back.
    ///
    /// - Parameter found: nil when the claim failed.
    mutating func endClaim(_ id: String, room: Int, found: Int?) {
        add(id, (found ?? 0) - room)
        if found.map({ $0 >= room }) ?? true { look(at: [id]) }
    }

    /// Endpoints that could be sent something if it were due.
    func open(now: ContinuousClock.Instant) -> [String] {
        endpointIds.filter { isOpen($0, now: now) }
    }

    /// An attempt has ended, or was not made.
    ///
    /// - Parameter isRecorded: false when ``recorded(_:)`` will tell of it.
    mutating func finished(_ id: String, isRecorded: Bool) {
        add(id, -1)
        if !isRecorded { unrecorded += 1 }
    }

    /// What that many attempts led to is recorded, or given up.
    mutating func recorded(_ count: Int) {
        unrecorded -= count
    }

    private mutating func add(_ id: String, _ count: Int) {
        inFlight[id, default: 0] += count
        inFlightInAll += count
    }

    private func isOpen(_ id: String, now: ContinuousClock.Instant) -> Bool {
        isSendable(id, now: now) && room(for: id) > 0
    }

    private func waitsForItsTurn(_ id: String, now: ContinuousClock.Instant) -> Bool {
        isSendable(id, now: now) && inFlight[id, default: 0] < perEndpointMaximum
    }

    private func isSendable(_ id: String, now: ContinuousClock.Instant) -> Bool {
        !disabled.contains(id) && pausedUntil[id].map { $0 <= now } ?? true
    }
}
