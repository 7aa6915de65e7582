import Persistence
import PurchaseModel

/// Says of submissions that are too old without an outcome what keeps them, and who can change it.
enum AlarmCheck {
    private static let subject = "alarms"

    /// A finding for each reason: wrong where somebody must act, a warning where only waiting helps.
    static func judge(_ alarmed: [SubmissionStore.Alarmed]) -> [Finding] {
        guard !alarmed.isEmpty else { return [.good(subject, "no purchase is too old without an outcome")] }
        return alarmed.map { group in
            let detail =
                "\(group.count) purchases have no outcome for \(group.reason), "
                + "the oldest is \(ToolOutput.age(group.oldestSeconds)) old"
            guard let remedy = Reason.of(group.reason).waiting else {
                return .warning(
                    subject, detail,
                    remedy: "nothing was learnt of them yet; they are asked about again by themselves, see "
                        + "`countersign inspect` for one of them if Apple is well")
            }
            return .wrong(subject, detail, remedy: remedy)
        }
    }
}
