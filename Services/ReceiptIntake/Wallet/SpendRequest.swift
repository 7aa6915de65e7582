import Crypto
import Foundation
import HTTPTypes
import Messages
import Persistence
import PurchaseModel
import ServiceRuntime

/// What the studio's backend sends to spend of an account's wallet.
struct SpendRequest: Decodable, Sendable {
    /// What a request may hold.
    enum Limit {
        /// The most of one item: as much as one purchase can bring.
        static let amount: ClosedRange<Int64> = 1...LedgerStore.Limit.amount
        /// Bytes of an item's name, as catalogues have them.
        static let itemBytes = 1...255
        /// The most Unicode scalars of a reference.
        static let reference = 255
        /// Characters of an idempotency key.
        static let key = 1...255
    }

    let app: String
    let environment: String?
    let items: [Catalogue.ItemGrant]
    let reference: String?

    enum CodingKeys: String, CodingKey {
        case app, environment, items, reference
    }

    private enum ItemKey: String, CodingKey {
        case item, amount
    }

    /// - Throws: `DecodingError`; `ProblemDetails` for items that are none, which name the place of the flaw.
    init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        app = try members.decode(String.self, forKey: .app)
        environment = try members.decodeIfPresent(String.self, forKey: .environment)
        reference = try members.decodeIfPresent(String.self, forKey: .reference)
        guard members.contains(.items) else { throw ProblemDetails.fieldMissing("items") }
        guard var list = try? members.nestedUnkeyedContainer(forKey: .items) else { throw Self.itemsInvalid }
        var items: [Catalogue.ItemGrant] = []
        while !list.isAtEnd {
            // Before the next is read, so that a long list costs no more than a full one.
            guard items.count < SpendStore.itemsMaximum else { throw Self.itemsInvalid }
            let place = "items[\(items.count)]"
            guard let item = try? list.nestedContainer(keyedBy: ItemKey.self) else {
                throw ProblemDetails.fieldInvalid(place, "an object with `item` and `amount`")
            }
            items.append(try Self.item(item, at: place))
        }
        self.items = items
    }

    private static func item(
        _ members: KeyedDecodingContainer<ItemKey>, at place: String
    ) throws -> Catalogue.ItemGrant {
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
        guard let amount = try? members.decode(Int64.self, forKey: .amount), Limit.amount.contains(amount) else {
            throw ProblemDetails.fieldInvalid("\(place).amount", "a whole number, \(Limit.amount.words)")
        }
        return Catalogue.ItemGrant(item: name, amount: amount)
    }

    /// The request as the store takes it.
    ///
    /// Items are sorted by name, so that the same request in another order is the same.
    ///
    /// - Throws: `ProblemDetails` for what no request may have.
    func checked(app: String, account: Account, key: String) throws -> SpendStore.Request {
        let environment = try StoreEnvironment(field: environment) ?? .production
        // Names that look alike are one name to Swift, and one wallet item would be taken for the other.
        guard !items.isEmpty, Set(items.map(\.item)).count == items.count else { throw Self.itemsInvalid }
        if let reference, !PrintableText.isOne(reference, lengthMaximum: Limit.reference) {
            throw ProblemDetails.fieldInvalid(
                "reference", "1 to \(Limit.reference) characters without control characters")
        }
        let sorted = items.sorted { $0.item < $1.item }
        return SpendStore.Request(
            customer: Customer(environment: environment, app: app, account: account), key: key,
            sha256: Self.sha256(sorted, reference), items: sorted, reference: reference)
    }

    /// A hash of what makes a request another one: whose it is stands beside the key already.
    private static func sha256(_ items: [Catalogue.ItemGrant], _ reference: String?) -> String {
        var hash = SHA256()
        for part in items.flatMap({ [$0.item, "\($0.amount)"] }) + (reference.map { [$0] } ?? []) {
            // The length goes first, so that no two lists of parts are the same bytes.
            withUnsafeBytes(of: UInt64(part.utf8.count).bigEndian) { hash.update(bufferPointer: $0) }
            hash.update(data: Array(part.utf8))
        }
        return hash.finalize().lowercaseHexadecimal
    }

    /// The caller's name of the request: the header `Idempotency-Key`, once.
    ///
    /// Source: draft-ietf-httpapi-idempotency-key-header; quotes are part of the key.
    ///
    /// - Throws: `ProblemDetails` when it is missing, comes twice, or is no printable ASCII.
    static func key(_ headers: HTTPFields) throws -> String {
        let values = headers[values: .idempotencyKey]
        guard values.count == 1, let key = values.first, Limit.key.contains(key.utf8.count),
            key.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
        else { throw ProblemDetails.idempotencyKeyRequired }
        return key
    }

    private static let itemsInvalid = ProblemDetails.fieldInvalid(
        "items", "1 to \(SpendStore.itemsMaximum) items of distinct names")
}

extension ClosedRange {
    /// "1 to 255".
    fileprivate var words: String { "\(lowerBound) to \(upperBound)" }
}
