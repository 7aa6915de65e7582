import Foundation
import Persistence
import PurchaseModel

/// What `countersign inspect` found: what the id is, and the dossiers that it leads to, put together.
struct InspectedStory {
    /// One thing that an id is.
    struct Meaning: Codable, Equatable {
        let id: String
        let kind: IdentifierStore.Kind
        let environment: String?
        let app: String?
        let account: String?

        /// As a person reads it.
        var sentence: String {
            let place = [app.map { " of \($0)" }, environment.map { " in \($0)" }].compactMap(\.self).joined()
            let owner = account.map { ", \($0)'s" } ?? ""
            return switch kind {
            case .account: "an account\(place)"
            case .submission: "a submission\(place)\(account == nil ? ", sent by Apple or found by the sweep" : owner)"
            case .event: "an event\(place)\(owner)"
            case .transaction: "a transaction id of Apple's\(place)\(account == nil ? ", nobody's" : owner)"
            case .originalTransaction: "the original transaction id of a lineage\(place)\(owner)"
            case .webOrderLineItem: "a web order line item id\(place)\(owner)"
            case .intent: "an intent to buy\(place)\(owner)"
            case .accountToken: "an appAccountToken\(place)\(account == nil ? ", which nobody has registered" : owner)"
            case .notification: "a notification of Apple's\(place)"
            case .request: "a request\(place)\(owner) that posted something"
            case .postedNumber: "a number that was posted\(place)\(owner), and that no order has"
            case .forgetRequest: "a request to forget an account\(place)\(owner)"
            case .sweepRequest: "a request to have Apple asked about a customer\(place)"
            case .spend: "a spend\(place)\(owner)"
            }
        }
    }

    let id: String
    private(set) var meanings: [Meaning] = []
    /// Lists of rows by table, and numbers under `counts`.
    private var parts: [String: Any] = [:]

    init(id: String) {
        self.id = id
    }

    /// Whether nothing knows the id.
    var isEmpty: Bool { meanings.isEmpty && parts.isEmpty }

    /// Takes the rows of a dossier that are not there yet.
    ///
    /// - Throws: `ToolFailure` for what is no JSON object.
    mutating func add(_ dossier: String) throws {
        guard let object = try JSONSerialization.jsonObject(with: Data(dossier.utf8)) as? [String: Any] else {
            throw ToolFailure("the database answers with something that is no dossier")
        }
        for (name, value) in object {
            guard let rows = value as? [Any] else {
                parts[name] = value
                continue
            }
            var known = parts[name] as? [Any] ?? []
            var keys = Set(known.map(Self.key))
            for row in rows where keys.insert(Self.key(row)).inserted { known.append(row) }
            parts[name] = known
        }
    }

    /// Takes what an id is, each once; of one that something is known of.
    mutating func add(_ id: String, _ found: [IdentifierStore.Meaning]) {
        for meaning in found {
            let new = Meaning(
                id: id, kind: meaning.kind, environment: meaning.environment, app: meaning.app,
                account: meaning.account?.text)
            if !meanings.contains(new) { meanings.append(new) }
        }
        guard !meanings.contains(where: { $0.id == id }) else { return }
        // Named by a contradiction.
        meanings.append(Meaning(id: id, kind: .transaction, environment: nil, app: nil, account: nil))
    }

    private static func key(_ row: Any) -> Data {
        (try? JSONSerialization.data(withJSONObject: row, options: [.sortedKeys, .fragmentsAllowed])) ?? Data()
    }

    private static let lists = [
        "submissions", "orders", "order_transactions", "purchase_conflicts", "ledger_entries", "balances",
        "entitlements", "bindings", "subscriptions", "events", "deliveries", "apple_calls", "audit_log",
    ]

    private var whole: [String: Any] {
        var whole = parts
        for list in Self.lists where whole[list] == nil { whole[list] = [Any]() }
        return whole
    }

    /// For programs: the lists, `id`, and `recognised_as`.
    ///
    /// - Throws: where Foundation cannot write it.
    func json() throws -> String {
        var whole = whole
        whole["id"] = id
        whole["recognised_as"] = try JSONSerialization.jsonObject(with: Data(try ToolOutput.json(meanings).utf8))
        let data = try JSONSerialization.data(
            withJSONObject: whole, options: [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes])
        return String(decoding: data, as: UTF8.self)
    }

    /// For people: a line for each thing that the id is, and the dossier.
    ///
    /// - Throws: `DecodingError`, for a state that this version does not know.
    func text() throws -> String {
        let data = try JSONSerialization.data(withJSONObject: whole)
        let dossier = try Dossier(json: String(decoding: data, as: UTF8.self))
        let heads = meanings.map { "\($0.id) is \($0.sentence)" }
        let body = dossier.text
        let isBare = dossier.orders.isEmpty && dossier.submissions.isEmpty
        let hints = meanings.compactMap { meaning -> String? in
            guard isBare, meaning.kind == .intent || meaning.kind == .accountToken, let account = meaning.account else {
                return nil
            }
            return "nothing was bought by it as yet; `countersign inspect \(account)` shows the account"
        }
        return (heads + hints + (body.isEmpty ? [] : ["", body])).joined(separator: "\n")
    }
}
