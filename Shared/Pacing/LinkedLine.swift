/// A line of people: one joins at its end, and may leave it from anywhere, at the same small cost.
struct LinkedLine<ID: Hashable & Sendable>: Sendable {
    private struct Neighbours: Sendable {
        var before: ID?
        var after: ID?
    }

    private var neighbours: [ID: Neighbours] = [:]
    /// Who came first.
    private(set) var first: ID?
    /// Who came last.
    private(set) var last: ID?

    /// How many stand in it.
    var count: Int {
        neighbours.count
    }

    /// Everybody, in order.
    var all: [ID] {
        var all: [ID] = []
        var next = first
        while let id = next {
            all.append(id)
            next = neighbours[id]?.after
        }
        return all
    }

    /// Puts `id` at the end; if it stands in the line already, it leaves its place.
    mutating func append(_ id: ID) {
        remove(id)
        neighbours[id] = Neighbours(before: last, after: nil)
        if let last { neighbours[last]?.after = id } else { first = id }
        last = id
    }

    /// Takes `id` out, if it is in.
    mutating func remove(_ id: ID) {
        guard let gone = neighbours.removeValue(forKey: id) else { return }
        if let before = gone.before { neighbours[before]?.after = gone.after } else { first = gone.after }
        if let after = gone.after { neighbours[after]?.before = gone.before } else { last = gone.before }
    }
}
