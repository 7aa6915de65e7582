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
        /// The most Unicode scalars of a reference.
        static let reference = 255
        /// Characters of an idempotency key.
        static let key = 1...255
    }

    let app: String
    let environment: String?
    let items: ItemAmounts
    let reference: String?

    enum CodingKeys: String, CodingKey {
        case app, environment, items, reference
    }

    /// - Throws: `DecodingError`; `ProblemDetails` for items that are none, which name the place of the flaw.
    init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        app = try members.decode(String.self, forKey: .app)
        environment = try members.decodeIfPresent(String.self, forKey: .environment)
        reference = try members.decodeIfPresent(String.self, forKey: .reference)
        items = try members.items(forKey: .items)
    }

    /// The request as the store takes it.
    ///
    /// - Throws: `ProblemDetails` for what no request may have.
    func checked(_ caller: Caller, account: Account, key: String) throws -> SpendStore.Request {
        let environment = try caller.environment(environment)
        let sorted = try items.checked(Limit.amount)
        if let reference, !PrintableText.isOne(reference, lengthMaximum: Limit.reference) {
            throw ProblemDetails.fieldInvalid(
                "reference", "1 to \(Limit.reference) characters without control characters")
        }
        return SpendStore.Request(
            customer: Customer(environment: environment, app: caller.app, account: account), key: key,
            // Of what makes a request another one: whose it is stands beside the key already.
            sha256: PartsHash.sha256(
                sorted.flatMap { [$0.item, "\($0.amount)"] } + (reference.map { [$0] } ?? [])),
            items: sorted, reference: reference)
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
}
