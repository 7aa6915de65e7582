import AppStore
import Logging
import Messages
import Metrics
import PurchaseModel
import ServiceRuntime

/// Counts Apple's notifications by type, `countersign_notifications_judged_total{type}`, and tells of types that are
/// not known and of apps whose number is wrong in the settings.
///
/// Only what Apple signed is counted: a forgery does not say which type it is.
struct NotificationTally: Sendable {
    /// What a type is counted as that this version does not know: whoever sends could otherwise make labels without end.
    static let other = "other"

    let attention: AttentionLog
    let logger: Logger

    /// Counts the notifications of a batch.
    func count(_ judged: [(submission: SubmissionMessage, finding: Finding)]) {
        var counts: [String: Int] = [:]
        for entry in judged {
            if case .unknown(let reason, _) = entry.finding.verdict, reason == .appAppleIdMismatch {
                attention.raise(
                    .appAppleIdMismatch, app: entry.submission.app,
                    "Apple signs another appAppleId than the apps file has for the bundle id")
            }
            guard let kind = entry.finding.notification else { continue }
            let type = Self.label(of: kind.type)
            counts[type, default: 0] += 1
            if type == Self.other {
                attention.raise(
                    .notificationTypeUnknown, app: entry.submission.app,
                    "Apple sends notifications of a type that is not known here: only what it signed in them is taken in"
                )
            }
        }
        for (type, count) in counts {
            Counter(label: "countersign_notifications_judged_total", dimensions: [("type", type)])
                .increment(by: Int64(count))
        }
        guard !counts.isEmpty else { return }
        let types = counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
        logger.debug("notifications were judged: \(types)")
    }

    /// The label of a type: its name, or ``other``.
    static func label(of type: String) -> String {
        SignedNotification.NotificationType.known.contains(.init(rawValue: type)) ? type : other
    }
}
