import Persistence
import PurchaseModel

/// Says of which apps an older system grants everything still.
enum CutOverCheck {
    private static let subject = "cut-overs"

    static func judge(_ rows: [CutOverStore.Row]) -> [Finding] {
        rows.map { row in
            let sentence = CutOverText.sentence(row.key, row.cutOver)
            guard row.cutOver.date == nil else { return .good(subject, sentence) }
            return .warning(
                subject, sentence + ": nothing of it is credited here",
                remedy: "once the older system grants no more, `countersign cut-over set --at TIME`")
        }
    }
}
