import Persistence
import PurchaseModel

/// Says what is doubtful about purchases as such: data that contradicts itself, or lacks a field.
enum PurchaseCheck {
    private static let subject = "purchases"

    /// Parked orders that are told of here, and what to do about them.
    private static let remedies: [String: String] = [
        "purchase_ambiguous":
            "Apple's data says two things of one purchase: `countersign inspect` shows what contradicts the order; "
            + "where it was paid for, `countersign orders assign` grants it",
        "transaction_incomplete":
            "Apple's data lacks what its type must have, such as the end of a period: they are granted by themselves when "
            + "newer data has it; have the app post one anew, and see `countersign inspect`",
        "vocabulary_unknown":
            "Apple's data has a word that this version does not know, or about which only a policy of the product decides: "
            + "give the product `assigned` or `bundled` in the catalogue, or update Countersign; then they are decided by "
            + "themselves",
    ]

    /// Whether parked orders of a reason are told of here.
    static func concerns(_ parked: BacklogStore.Parked) -> Bool { remedies[parked.reason] != nil }

    static func judge(
        conflicts: BacklogStore.OpenConflicts?, parked: [BacklogStore.Parked],
        unknownValues: [BacklogStore.UnknownValue] = []
    ) -> [Finding] {
        var findings: [Finding] = []
        if !unknownValues.isEmpty {
            findings.append(
                .warning(
                    subject, "Apple signs what this version does not know: " + text(unknownValues),
                    remedy: "look for a newer version; what holds an order is decided by itself once it is known"))
        }
        if let conflicts {
            findings.append(
                .warning(
                    subject,
                    "Apple signed what contradicts an order, \(conflicts.count) times, the oldest "
                        + "\(ToolOutput.age(conflicts.oldestSeconds)) ago: \(conflicts.oldest)",
                    remedy:
                        "nothing was granted by it, and what was granted before stays: see `countersign inspect` of "
                        + "its id, decide, and then UPDATE "
                        + "purchase_conflicts SET resolved_at = now() WHERE id = …"))
        }
        for group in parked {
            guard let remedy = remedies[group.reason] else { continue }
            findings.append(
                .warning(
                    subject,
                    "\(group.count) orders are parked for \(group.reason), the oldest for "
                        + "\(ToolOutput.age(group.oldestSeconds)): \(group.oldestOrder)", remedy: remedy))
        }
        guard findings.isEmpty else { return findings }
        return [.good(subject, "none contradicts another")]
    }

    /// `type "Subscription Bundle" holds (com.example.game, production 1000), transaction.zebra is a new field (…)`.
    private static func text(_ values: [BacklogStore.UnknownValue]) -> String {
        values.map { value in
            let example = "(\(value.app), \(value.example))"
            guard !value.text.isEmpty else { return "\(value.field) is a new field \(example)" }
            let effect = value.effect == "noted" ? "holds nothing" : value.effect
            return "\(value.field) \"\(value.text)\"\(value.isNamed ? ", known by name," : "") \(effect) \(example)"
        }.joined(separator: "; ")
    }
}
