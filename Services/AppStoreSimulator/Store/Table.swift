import HTTPTypes

/// Rows by their id, and which of them changed since the journal was last written.
struct Table<Row: Codable & Sendable & Identifiable>: Sendable where Row.ID == String {
    private(set) var rows: [String: Row] = [:]
    private(set) var changed: Set<String> = []

    subscript(id: String) -> Row? { rows[id] }

    /// A row that must be there.
    ///
    /// - Parameter noun: what a ``Problem`` calls it.
    func required(_ id: String, _ noun: String) throws(Problem) -> Row {
        guard let row = rows[id] else { throw Problem(.notFound, "no \(noun) \(id)") }
        return row
    }

    var count: Int { rows.count }

    mutating func put(_ row: Row) {
        rows[row.id] = row
        changed.insert(row.id)
    }

    mutating func remove(_ id: String) {
        rows[id] = nil
        changed.insert(id)
    }

    /// Takes a row from the journal: it is there already.
    mutating func load(_ id: String, _ row: Row?) {
        rows[id] = row
    }

    mutating func forgetChanges() {
        changed.removeAll(keepingCapacity: true)
    }
}

/// What comes due, the earliest first.
///
/// An entry is a reminder, not the truth: the record that it names says when it is due, and an entry that disagrees is
/// dropped when its turn comes.
struct DueQueue: Sendable {
    /// Something that happens by itself.
    enum Kind: Sendable, Equatable {
        case subscription(String)
        case notification(String)
        case refundRequest(String)
        case externalPurchase(String)
        case massExtension(String)
    }

    struct Entry: Sendable {
        /// Milliseconds since 1970.
        let date: Int64
        /// Breaks ties: what was put in first happens first.
        let order: Int64
        let kind: Kind
    }

    private var heap: [Entry] = []
    private var order: Int64 = 0

    var first: Entry? { heap.first }

    mutating func push(_ kind: Kind, at date: Int64) {
        order += 1
        heap.append(Entry(date: date, order: order, kind: kind))
        var child = heap.count - 1
        while child > 0, Self.precedes(heap[child], heap[(child - 1) / 2]) {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    mutating func popFirst() -> Entry? {
        guard let first = heap.first else { return nil }
        let last = heap.removeLast()
        if heap.isEmpty { return first }
        heap[0] = last
        var parent = 0
        while true {
            var smallest = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count {
                if Self.precedes(heap[child], heap[smallest]) { smallest = child }
            }
            if smallest == parent { return first }
            heap.swapAt(parent, smallest)
            parent = smallest
        }
    }

    private static func precedes(_ left: Entry, _ right: Entry) -> Bool {
        (left.date, left.order) < (right.date, right.order)
    }
}
