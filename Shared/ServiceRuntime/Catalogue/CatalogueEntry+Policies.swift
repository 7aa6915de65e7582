import PurchaseModel
import Yams

/// What happens to a product later: whose it may become, and what is taken back.
extension CatalogueEntry {
    private enum RestoreField: String, CaseIterable {
        case policy, transfers, per, accounts

        /// The policies for which a limit limits something.
        var policies: [RestorePolicy] {
            switch self {
            case .policy: RestorePolicy.allCases
            case .transfers, .per: [.transfer, .transferIfInactive]
            case .accounts: [.share]
            }
        }
    }

    /// The rule of `restore`: a policy alone, or a mapping with its limits.
    mutating func restore(of id: String, _ type: ProductType?) -> RestoreRule {
        guard let value = field(.restore) else { return .keep }
        guard type != .consumable else {
            mistakes.add(
                value.mark?.line, "\(id) of \(app) has a `restore`; a consumable is used up, and never restored")
            return .keep
        }
        guard let mapping = value.mapping else {
            return policy(value, of: id).map { RestoreRule(policy: $0) } ?? .keep
        }
        for (key, _) in mapping where RestoreField(rawValue: key.string ?? "") == nil {
            let known = RestoreField.allCases.map(\.rawValue).joined(separator: ", ")
            mistakes.add(
                key.mark?.line, "`\(key.string ?? "?")` in `restore` of \(id) of \(app) is not one of \(known)")
        }
        guard let written = part(.policy, of: mapping) else {
            mistakes.add(value.mark?.line, "`restore` of \(id) of \(app) lacks `policy`")
            return .keep
        }
        guard let policy = policy(written, of: id) else { return .keep }
        for field in RestoreField.allCases where !field.policies.contains(policy) {
            guard let limit = part(field, of: mapping) else { continue }
            let policies = field.policies.map(\.rawValue).joined(separator: " and ")
            mistakes.add(
                limit.mark?.line,
                "`\(field.rawValue)` of \(id) of \(app) limits nothing: it is for \(policies), not for \(policy.rawValue)"
            )
        }
        return RestoreRule(
            policy: policy,
            transfersMaximum: count(.transfers, of: mapping, id, in: Self.transfersRange)
                ?? RestoreRule.Default.transfers,
            period: period(of: mapping, id) ?? RestoreRule.Default.period,
            accountsMaximum: count(.accounts, of: mapping, id, in: Self.accountsRange) ?? RestoreRule.Default.accounts)
    }

    /// The policies of `take_back`: one for every item that the product grants, or a mapping of some of them.
    mutating func takeBacks(of id: String) -> [String: TakeBackPolicy] {
        guard let value = field(.takeBack) else { return [:] }
        // As they are written: an item with a wrong amount is told of already.
        let granted = Set(field(.grants)?.mapping.map { mapping in mapping.compactMap { name($0.key) } } ?? [])
        guard let mapping = value.mapping else {
            guard let policy = takeBack(value, of: id) else { return [:] }
            if field(.grants) == nil {
                mistakes.add(value.mark?.line, "\(id) of \(app) has a `take_back`, and `grants` nothing to take back")
            }
            return Dictionary(uniqueKeysWithValues: granted.map { ($0, policy) })
        }
        var policies: [String: TakeBackPolicy] = [:]
        for (key, written) in mapping {
            guard let item = name(key), granted.contains(item) else {
                mistakes.add(
                    key.mark?.line, "`take_back` of \(id) of \(app) names \(key.string ?? "?"), which it does not grant"
                )
                continue
            }
            policies[item] = takeBack(written, of: id)
        }
        return policies
    }

    /// Who gets what is paid anew in a subscription that had lapsed.
    mutating func newPurchase(of id: String, _ type: ProductType?) -> NewPurchasePolicy {
        guard let value = field(.newPurchase) else { return .payer }
        if type != .autoRenewable {
            mistakes.add(
                value.mark?.line, "\(id) of \(app) has a `new_purchase`, which is for an auto_renewable product")
        }
        if let policy = name(value).flatMap(NewPurchasePolicy.init) { return policy }
        let known = NewPurchasePolicy.allCases.map(\.rawValue).joined(separator: ", ")
        mistakes.add(value.mark?.line, "the `new_purchase` of \(id) of \(app) is not one of \(known)")
        return .payer
    }

    /// What a family member's copy brings.
    mutating func family(of id: String, _ type: ProductType?) -> FamilyPolicy {
        guard let value = field(.family) else { return .entitlements }
        if type == .consumable || type == .nonRenewing {
            mistakes.add(
                value.mark?.line, "\(id) of \(app) has a `family`; Apple shares no \(type?.rawValue ?? "") product")
        }
        if let policy = name(value).flatMap(FamilyPolicy.init) { return policy }
        let known = FamilyPolicy.allCases.map(\.rawValue).joined(separator: ", ")
        mistakes.add(value.mark?.line, "the `family` of \(id) of \(app) is not one of \(known)")
        return .entitlements
    }

    /// What a transaction brings that Apple marks as a seat, or as a part of a bundle.
    mutating func marked(_ field: Field, of id: String) -> MarkedPolicy {
        guard let value = self.field(field) else { return .hold }
        if let policy = name(value).flatMap(MarkedPolicy.init) { return policy }
        let known = MarkedPolicy.allCases.map(\.rawValue).joined(separator: ", ")
        mistakes.add(value.mark?.line, "the `\(field.rawValue)` of \(id) of \(app) is not one of \(known)")
        return .hold
    }

    private func part(_ field: RestoreField, of mapping: Node.Mapping) -> Node? {
        mapping[Node(field.rawValue)]
    }

    private mutating func policy(_ node: Node, of id: String) -> RestorePolicy? {
        if let policy = name(node).flatMap(RestorePolicy.init) { return policy }
        let known = RestorePolicy.allCases.map(\.rawValue).joined(separator: ", ")
        mistakes.add(node.mark?.line, "the restore policy of \(id) of \(app) is not one of \(known)")
        return nil
    }

    private mutating func takeBack(_ node: Node, of id: String) -> TakeBackPolicy? {
        if let policy = name(node).flatMap(TakeBackPolicy.init) { return policy }
        let known = TakeBackPolicy.allCases.map(\.rawValue).joined(separator: ", ")
        mistakes.add(
            node.mark?.line, "`take_back` of \(id) of \(app) is not one of \(known), or a mapping of items to them")
        return nil
    }

    private mutating func count(
        _ field: RestoreField, of mapping: Node.Mapping, _ id: String, in range: ClosedRange<Int>
    ) -> Int? {
        guard let node = part(field, of: mapping) else { return nil }
        // By its text, as every number of a catalogue.
        if let count = node.scalar.flatMap({ Int($0.string) }), range.contains(count) { return count }
        mistakes.add(
            node.mark?.line,
            "`\(field.rawValue)` of \(id) of \(app) is a whole number from \(range.lowerBound) to \(range.upperBound)")
        return nil
    }

    private mutating func period(of mapping: Node.Mapping, _ id: String) -> ProductDuration? {
        guard let node = part(.per, of: mapping) else { return nil }
        if let period = name(node).flatMap(ProductDuration.init) { return period }
        mistakes.add(node.mark?.line, "`per` of \(id) of \(app) is not P and a number of D, W, M or Y")
        return nil
    }
}
