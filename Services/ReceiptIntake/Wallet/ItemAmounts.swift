import Persistence
import PurchaseModel
import ServiceRuntime

/// The member `items` of a body: names of items with amounts.
struct ItemAmounts: Decodable, Sendable {
    enum Limit {
        /// Bytes of an item's name, as catalogues have them.
        static let itemBytes = 1...255
    }

    /// As they were sent, ``SpendStore/itemsMaximum`` at most.
    let list: [Amount]

    /// An amount of one item.
    struct Amount: Sendable {
        let item: String
        let amount: Int64
        /// Where it stands in the body.
        let place: String
    }

    private enum ItemKey: String, CodingKey {
        case item, amount
    }

    /// - Throws: `ProblemDetails` for items that are none, which name the place of the flaw.
    init(from decoder: any Decoder) throws {
        guard var items = try? decoder.unkeyedContainer() else { throw Self.invalid }
        var list: [Amount] = []
        while !items.isAtEnd {
            // Before the next is read, so that a long list costs no more than a full one.
            guard list.count < SpendStore.itemsMaximum else { throw Self.invalid }
            let place = "items[\(list.count)]"
            guard let item = try? items.nestedContainer(keyedBy: ItemKey.self) else {
                throw ProblemDetails.fieldInvalid(place, "an object with `item` and `amount`")
            }
            list.append(try Self.amount(item, at: place))
        }
        self.list = list
    }

    private static func amount(_ members: KeyedDecodingContainer<ItemKey>, at place: String) throws -> Amount {
        for key in [ItemKey.item, .amount] where !members.contains(key) {
            throw ProblemDetails.fieldMissing("\(place).\(key.rawValue)")
        }
        // A null character is in no text of the database.
        guard let name = try? members.decode(String.self, forKey: .item), Limit.itemBytes.contains(name.utf8.count),
            !name.utf8.contains(0)
        else {
            throw ProblemDetails.fieldInvalid("\(place).item", "a text of \(Limit.itemBytes.words) bytes")
        }
        // JSON has one kind of number, so 5.0 and 5e0 are 5; what is no whole number is none of these.
        let amount = try? members.decode(Int64.self, forKey: .amount)
        return Amount(item: name, amount: amount ?? 0, place: place)
    }

    /// The items, sorted by name, so that the same request in another order is the same.
    ///
    /// - Parameter amounts: which amounts may be; 0 never may.
    /// - Throws: `ProblemDetails` for no items, for a name that comes twice, for other amounts.
    func checked(_ amounts: ClosedRange<Int64>) throws -> [Catalogue.ItemGrant] {
        for item in list where item.amount == 0 || !amounts.contains(item.amount) {
            let zero = amounts.contains(0) ? ", and not 0" : ""
            throw ProblemDetails.fieldInvalid("\(item.place).amount", "a whole number, \(amounts.words)\(zero)")
        }
        // Names that look alike are one name to Swift, and one wallet item would be taken for the other.
        guard !list.isEmpty, Set(list.map(\.item)).count == list.count else { throw Self.invalid }
        return list.map { Catalogue.ItemGrant(item: $0.item, amount: $0.amount) }.sorted { $0.item < $1.item }
    }

    fileprivate static let invalid = ProblemDetails.fieldInvalid(
        "items", "1 to \(SpendStore.itemsMaximum) items of distinct names")
}

extension KeyedDecodingContainer {
    /// The items of a body.
    ///
    /// - Throws: `ProblemDetails` where there are none, and for what is none.
    func items(forKey key: Key) throws -> ItemAmounts {
        guard contains(key) else { throw ProblemDetails.fieldMissing(key.stringValue) }
        guard try !decodeNil(forKey: key) else { throw ItemAmounts.invalid }
        return try decode(ItemAmounts.self, forKey: key)
    }
}

extension ClosedRange {
    /// "1 to 255".
    var words: String { "\(lowerBound) to \(upperBound)" }
}
