import PurchaseModel
import Yams

/// One product of a catalogue as it is written.
struct CatalogueEntry {
    enum Field: String, CaseIterable {
        case id, type, grants, entitlements, duration, prices, restore, family, assigned, bundled, refund
        case takeBack = "take_back"
        case newPurchase = "new_purchase"
    }

    /// Items, entitlements or prices of one product.
    static let entriesMaximum = 1_000
    /// Characters of a name; Apple's product ids have up to 255.
    static let nameLengthMaximum = 255
    /// A thousand million units of a currency, in milliunits.
    static let priceRange: ClosedRange<Int64> = 0...1_000_000_000_000
    /// Transfers in a period: above any that a studio would let pass.
    static let transfersRange = 1...1_000
    /// Accounts that share a lineage, the owner among them; one alone would share with nobody.
    static let accountsRange = 2...1_000

    let node: Node
    let app: String
    /// What was found wrong so far.
    var mistakes = CatalogueMistakes()

    init(_ node: Node, app: String) {
        self.node = node
        self.app = app
    }

    /// Its id; nil when it cannot be named.
    var id: String? { name(field(.id)) }

    /// The product; nil when it has no id or no type.
    ///
    /// What is wrong with it, all of it, is in ``mistakes``.
    mutating func product() -> Catalogue.Product? {
        guard let mapping = node.mapping else {
            mistakes.add(node.mark?.line, "a product of \(app) is a mapping with `id` and `type`")
            return nil
        }
        for (key, _) in mapping where Field(rawValue: key.string ?? "") == nil {
            let known = Field.allCases.map(\.rawValue).joined(separator: ", ")
            mistakes.add(key.mark?.line, "`\(key.string ?? "?")` is not one of \(known)")
        }
        if id == nil { tellOfId() }
        let name = id ?? "a product"
        let (type, items, entitlements) = (type(name), items(of: name), entitlements(of: name))
        let (duration, prices) = (duration(of: name, type), prices(of: name))
        let newPurchase = newPurchase(of: name, type)
        let (restore, takeBacks) = (restore(of: name, type).leaving(newPurchase), takeBacks(of: name))
        let family = family(of: name, type)
        let (assigned, bundled) = (marked(.assigned, of: name), marked(.bundled, of: name))
        let refund = refund(of: name)
        guard let id, let type else { return nil }
        return Catalogue.Product(
            id: id, type: type, items: items, entitlements: entitlements, duration: duration, prices: prices,
            restore: restore, takeBacks: takeBacks, family: family, assigned: assigned, bundled: bundled,
            refund: refund)
    }

    private mutating func tellOfId() {
        guard let written = field(.id) else {
            mistakes.add(node.mark?.line, "a product of \(app) lacks `id`")
            return
        }
        mistakes.add(
            written.mark?.line, "the `id` of a product of \(app) is no text of 1 to \(Self.nameLengthMaximum) bytes")
    }

    func field(_ field: Field) -> Node? {
        node.mapping?[Node(field.rawValue)]
    }

    func name(_ node: Node?) -> String? {
        guard let text = node?.scalar?.string, (1...Self.nameLengthMaximum).contains(text.utf8.count) else {
            return nil
        }
        return text
    }

    private mutating func type(_ id: String) -> ProductType? {
        let known = ProductType.known.map(\.rawValue).joined(separator: ", ")
        guard let text = name(field(.type)) else {
            mistakes.add(node.mark?.line, "\(id) of \(app) lacks `type`, one of \(known)")
            return nil
        }
        guard let type = ProductType.known.first(where: { $0.rawValue == text }) else {
            mistakes.add(field(.type)?.mark?.line, "the type of \(id) of \(app) is \"\(text)\", not one of \(known)")
            return nil
        }
        return type
    }

    private mutating func items(of id: String) -> [Catalogue.ItemGrant] {
        numbers(
            .grants, of: id, in: 1...OrderDecision.amountMaximum,
            "an amount is a whole number from 1 to \(OrderDecision.amountMaximum)"
        ).sorted { $0.key < $1.key }.map { Catalogue.ItemGrant(item: $0.key, amount: $0.value) }
    }

    private mutating func prices(of id: String) -> [String: Int64] {
        let prices = numbers(.prices, of: id, in: Self.priceRange, "a price is a whole number of milliunits")
        guard let mapping = field(.prices)?.mapping else { return prices }
        for (key, _) in mapping {
            guard let currency = name(key),
                currency.utf8.count != 3
                    || !currency.utf8.allSatisfy((UInt8(ascii: "A")...UInt8(ascii: "Z")).contains)
            else { continue }
            mistakes.add(key.mark?.line, "\"\(currency)\" is not a currency of ISO 4217, such as USD")
        }
        return prices
    }

    private mutating func numbers(
        _ name: Field, of id: String, in range: ClosedRange<Int64>, _ expected: String
    ) -> [String: Int64] {
        guard let value = field(name) else { return [:] }
        guard let mapping = value.mapping, mapping.count <= Self.entriesMaximum else {
            mistakes.add(value.mark?.line, "`\(name.rawValue)` of \(id) of \(app) is not a mapping of names to numbers")
            return [:]
        }
        var numbers: [String: Int64] = [:]
        for (key, number) in mapping {
            // By its text: a YAML float such as 1.0 is no amount.
            guard let name = self.name(key), let text = number.scalar?.string, let amount = Int64(text),
                range.contains(amount)
            else {
                mistakes.add(key.mark?.line, "\(id) of \(app), \(key.string ?? "?"): \(expected)")
                continue
            }
            numbers[name] = amount
        }
        return numbers
    }

    private mutating func entitlements(of id: String) -> [String] {
        guard let value = field(.entitlements) else { return [] }
        guard let list = value.sequence, list.count <= Self.entriesMaximum else {
            mistakes.add(value.mark?.line, "`entitlements` of \(id) of \(app) is not a list of names")
            return []
        }
        var names: [String] = []
        for node in list {
            guard let name = name(node), !names.contains(name) else {
                mistakes.add(node.mark?.line, "an entitlement of \(id) of \(app) is no name, or named twice")
                continue
            }
            names.append(name)
        }
        return names
    }

    private mutating func duration(of id: String, _ type: ProductType?) -> ProductDuration? {
        guard let value = field(.duration) else {
            if type == .nonRenewing {
                mistakes.add(node.mark?.line, "\(id) of \(app) lacks `duration`, such as P30D: Apple does not say it")
            }
            return nil
        }
        guard type == .nonRenewing || type == nil else {
            mistakes.add(value.mark?.line, "\(id) of \(app) has a `duration`; only non_renewing has one")
            return nil
        }
        guard let duration = name(value).flatMap(ProductDuration.init) else {
            mistakes.add(value.mark?.line, "the duration of \(id) of \(app) is not P and a number of D, W, M or Y")
            return nil
        }
        return duration
    }
}
