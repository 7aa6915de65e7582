import PurchaseModel
import Yams

/// What Apple is told of a product when a customer asks for a refund.
extension CatalogueEntry {
    private enum RefundField: String, CaseIterable {
        case preference
        case whenConsumed = "when_consumed"
        case sampleContent = "sample_content"
    }

    /// The policy of `refund`.
    mutating func refund(of id: String) -> RefundPolicy {
        guard let value = field(.refund) else { return .silent }
        guard let mapping = value.mapping else {
            mistakes.add(value.mark?.line, "`refund` of \(id) of \(app) is not a mapping")
            return .silent
        }
        for (key, _) in mapping where RefundField(rawValue: key.string ?? "") == nil {
            let known = RefundField.allCases.map(\.rawValue).joined(separator: ", ")
            mistakes.add(
                key.mark?.line, "`\(key.string ?? "?")` in `refund` of \(id) of \(app) is not one of \(known)")
        }
        return RefundPolicy(
            preference: preference(.preference, in: mapping, of: id),
            whenConsumed: preference(.whenConsumed, in: mapping, of: id), hasSample: hasSample(in: mapping, of: id))
    }

    private mutating func preference(
        _ field: RefundField, in mapping: Node.Mapping, of id: String
    ) -> RefundPolicy.Preference? {
        guard let node = mapping[Node(field.rawValue)] else { return nil }
        if let preference = name(node).flatMap(RefundPolicy.Preference.init) { return preference }
        let known = RefundPolicy.Preference.allCases.map(\.rawValue).joined(separator: ", ")
        mistakes.add(
            node.mark?.line, "`\(field.rawValue)` in `refund` of \(id) of \(app) is not one of \(known)")
        return nil
    }

    private mutating func hasSample(in mapping: Node.Mapping, of id: String) -> Bool {
        guard let node = mapping[Node(RefundField.sampleContent.rawValue)] else { return false }
        if let flag = node.bool { return flag }
        mistakes.add(node.mark?.line, "`sample_content` in `refund` of \(id) of \(app) is not true or false")
        return false
    }
}
