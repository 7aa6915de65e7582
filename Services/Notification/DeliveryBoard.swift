/// Which endpoints may be sent how much now; the memory of ``DeliveryQueue``, without a clock or a database of its own.
///
/// Half of the room in all is divided: each endpoint has a share that no other can take, however many attempts to others
/// hang. The other half is whoever's who needs it first.
struct DeliveryBoard {
    /// The part of the room that is divided into shares.
    private static let shareDivisor = 2

    /// The endpoints that there are.
    private(set) var endpointIds: [String] = []
    private var known: Set<String> = []
    private let perEndpointMaximum: Int
    private let maximum: Int
    private let unrecordedMaximum: Int
    private var inFlight: [String: Int] = [:]
    private var inFlightInAll = 0
    /// Attempts at a time that each endpoint can always have.
    private var share = 1
    /// What is missing of all shares: room that only the endpoints themselves may take.
    private var reserved = 0
    private let breakerSettings: EndpointBreaker.Settings
    private var breakers: [String: EndpointBreaker] = [:]
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
    ///   - breaker: when an endpoint that fails is left alone.
    init(
        perEndpointMaximum: Int, maximum: Int, unrecordedMaximum: Int,
        breaker: EndpointBreaker.Settings = EndpointBreaker.Settings()
    ) {
        self.perEndpointMaximum = perEndpointMaximum
        breakerSettings = breaker
        self.maximum = maximum
        self.unrecordedMaximum = unrecordedMaximum
    }

    /// Whether no attempt is under way, and no room is reserved for one.
    var isIdle: Bool { inFlightInAll == 0 }

    /// How many attempts to an endpoint may begin now.
    func room(for id: String) -> Int {
        guard unrecorded < unrecordedMaximum else { return 0 }
        let own = inFlight[id, default: 0]
        let left = maximum - inFlightInAll
        // Of what is left, the others' shares are not for this one. With more endpoints than half of the room has places for, that
        // half is all that is reserved: hundreds that have nothing due would else keep each other at one attempt at a time.
        let divided = min(reserved, maximum / Self.shareDivisor)
        return max(0, min(limit(for: id) - own, left, missing(of: id) + max(0, left - divided)))
    }

    /// Whether an endpoint is left alone but for an attempt now and then, since it only fails.
    func isBroken(_ id: String) -> Bool { breakers[id]?.isOpen ?? false }

    private func limit(for id: String) -> Int { isBroken(id) ? 1 : perEndpointMaximum }

    private func missing(of id: String) -> Int { max(0, share - inFlight[id, default: 0]) }

    /// There are these endpoints now; those that are new may have something due.
    mutating func follow(_ ids: [String]) {
        mayHaveDue.formUnion(Set(ids).subtracting(endpointIds))
        mayHaveDue.formIntersection(ids)
        endpointIds = ids
        known = Set(ids)
        breakers = breakers.filter { known.contains($0.key) }
        share = min(perEndpointMaximum, max(1, maximum / Self.shareDivisor / max(1, ids.count)))
        reserved = ids.reduce(0) { $0 + missing(of: $1) }
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
        mayHaveDue.formIntersection(known)
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
        mayHaveDue.compactMap { id in
            [pausedUntil[id], breakers[id]?.nextAttempt].compactMap { $0 }.filter { $0 > now }.max()
        }.min()
    }

    /// Takes room for an attempt of a new event.
    ///
    /// What waits comes first: there is no room for a new event while its endpoint may have something due, nor, beyond the
    /// endpoint's own share, while another endpoint's turn would come if there were more room in all.
    ///
    /// - Returns: whether there was room; ``finished(_:isRecorded:)`` gives it back.
    mutating func reserve(_ id: String, now: ContinuousClock.Instant) -> Bool {
        guard phase == .running, known.contains(id), !mayHaveDue.contains(id), isOpen(id, now: now),
            missing(of: id) > 0 || !mayHaveDue.contains(where: { waitsForItsTurn($0, now: now) })
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
    /// - Parameters:
    ///   - found: nil when the claim failed.
    ///   - hasMore: whether there may be more than was found; it is so anyway where all of the room was used.
    mutating func endClaim(_ id: String, room: Int, found: Int?, hasMore: Bool = false) {
        add(id, (found ?? 0) - room)
        if hasMore || found.map({ $0 >= room }) ?? true { look(at: [id]) }
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

    /// An attempt was successful or not.
    ///
    /// - Returns: true when the endpoint is left alone from now on, false when it no longer is; nil when that is as before.
    mutating func note(_ id: String, succeeded: Bool, now: ContinuousClock.Instant) -> Bool? {
        guard known.contains(id) else { return nil }
        let wasBroken = isBroken(id)
        if succeeded { breakers[id] = nil } else { breakers[id, default: .init()].failed(now: now, breakerSettings) }
        return isBroken(id) == wasBroken ? nil : !wasBroken
    }

    /// What that many attempts led to is recorded, or given up.
    mutating func recorded(_ count: Int) {
        unrecorded -= count
    }

    private mutating func add(_ id: String, _ count: Int) {
        let isShared = known.contains(id)
        if isShared { reserved -= missing(of: id) }
        inFlight[id, default: 0] += count
        inFlightInAll += count
        if isShared { reserved += missing(of: id) }
    }

    private func isOpen(_ id: String, now: ContinuousClock.Instant) -> Bool {
        isSendable(id, now: now) && room(for: id) > 0
    }

    private func waitsForItsTurn(_ id: String, now: ContinuousClock.Instant) -> Bool {
        isSendable(id, now: now) && inFlight[id, default: 0] < limit(for: id)
    }

    private func isSendable(_ id: String, now: ContinuousClock.Instant) -> Bool {
        !disabled.contains(id) && (pausedUntil[id].map { $0 <= now } ?? true) && (breakers[id]?.allows(now) ?? true)
    }
}
