import Persistence
import PurchaseModel

/// Says of submissions that were rejected lately, and of those that are parked, why, and who can change it.
enum OutcomeCheck {
    enum Limit {
        /// Rejections of so many days are counted; nearly all of what is older nobody waits for any more.
        static let rejectedDays = 7
        static var rejectedWithin: Duration { .seconds(rejectedDays * 86_400) }
    }

    private static let rejections = "rejections"
    private static let parkedPosts = "parked posts"

    /// What is parked and is no doubt about an order, of which "parked orders" tells.
    private static let parkedPostReasons: Set<ReasonCode> = [
        .possessionUnproven, .environmentMissing, .signedWithExpiredCertificate, .claimUnnamed,
    ]

    /// - Parameter counts: of the last ``Limit/rejectedDays`` days.
    static func judge(rejected counts: [OutcomeCountStore.Count]) -> [Finding] {
        let days = "in the last \(Limit.rejectedDays) days"
        guard !counts.isEmpty else { return [.good(rejections, "none \(days)")] }
        return judge(counts, subject: rejections, remedy: { Reason.of($0).rejected }) { group in
            "\(group.count) submissions were rejected \(days) for \(group.reason), the oldest "
                + "\(ToolOutput.age(group.oldestSeconds)) ago"
        }
    }

    static func judge(parked counts: [OutcomeCountStore.Count]) -> [Finding] {
        guard !counts.isEmpty else { return [.good(parkedPosts, "none")] }
        return judge(
            counts, subject: parkedPosts, remedy: { parkedPostReasons.contains($0) ? Reason.of($0).parked : nil }
        ) { group in
            "\(group.count) submissions are parked for \(group.reason), the oldest for "
                + ToolOutput.age(group.oldestSeconds)
        }
    }

    /// A warning for each reason that somebody can do something about, and the others in a line.
    private static func judge(
        _ counts: [OutcomeCountStore.Count], subject: String, remedy: (ReasonCode) -> String?,
        sentence: (OutcomeCountStore.Count) -> String
    ) -> [Finding] {
        let warnings = counts.compactMap { group in
            remedy(group.reason).map { Finding.warning(subject, sentence(group), remedy: $0) }
        }
        let others = counts.filter { remedy($0.reason) == nil }.map(sentence)
        return warnings + (others.isEmpty ? [] : [.good(subject, others.joined(separator: "; "))])
    }
}
