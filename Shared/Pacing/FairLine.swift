/// A line in which everybody who asks often stands behind those who ask seldom.
///
/// Requests stand in rounds: an asker has one in each, until there are too many rounds, and then any number in the last. The
/// round at the front takes nobody any more, so that it ends. Of one asker the line is in order of arrival. Joining, leaving and
/// the place of a newcomer cost no more than the number of rounds.
struct FairLine<ID: Hashable & Sendable>: Sendable {
    enum Limit {
        /// The most rounds, the one at the front among them.
        static var rounds: Int { 64 }
    }

    private struct Place: Sendable {
        let round: Int
        let asker: String
    }

    private struct Asker: Sendable {
        var lastRound: Int
        var waiting: Int
    }

    /// The round at the front is the first; none at the front or at the end is empty.
    private var rounds: [LinkedLine<ID>] = []
    /// The number of the round at the front.
    private var front = 0
    private var places: [ID: Place] = [:]
    private var askers: [String: Asker] = [:]

    /// How many stand in it.
    var count: Int { places.count }

    /// Who is next.
    var first: ID? { rounds.first?.first }

    /// Who would be last.
    var last: ID? { rounds.last?.last }

    /// How many are before whoever of this asker joined now.
    func countBefore(asker: String) -> Int {
        rounds.prefix(round(of: asker) - front + 1).reduce(0) { $0 + $1.count }
    }

    /// Whether whoever of this asker joined now would come before the last one.
    func isBeforeLast(asker: String) -> Bool {
        round(of: asker) - front < rounds.count - 1
    }

    /// Takes `id` in.
    mutating func append(_ id: ID, asker: String) {
        remove(id)
        let round = round(of: asker)
        places[id] = Place(round: round, asker: asker)
        askers[asker, default: Asker(lastRound: round, waiting: 0)].waiting += 1
        askers[asker]?.lastRound = round
        while rounds.count <= round - front { rounds.append(LinkedLine()) }
        rounds[round - front].append(id)
        trim()
    }

    /// Takes `id` out, if it is in.
    mutating func remove(_ id: ID) {
        guard let place = places.removeValue(forKey: id) else { return }
        rounds[place.round - front].remove(id)
        if var asker = askers[place.asker] {
            asker.waiting -= 1
            askers[place.asker] = asker.waiting > 0 ? asker : nil
        }
        trim()
    }

    /// The round that a newcomer joins.
    private func round(of asker: String) -> Int {
        let next = max(front + 1, askers[asker].map { $0.lastRound + 1 } ?? 0)
        return min(next, front + Limit.rounds - 1)
    }

    /// Empty rounds are over.
    private mutating func trim() {
        while rounds.last?.count == 0 { rounds.removeLast() }
        while rounds.first?.count == 0 {
            rounds.removeFirst()
            front += 1
        }
    }
}
