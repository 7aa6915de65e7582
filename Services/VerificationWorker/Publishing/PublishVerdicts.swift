import EventProcessing
import Messages
import Metrics
import PurchaseModel

/// Sends verdicts to fulfillment; returns when the broker has them all, so that offsets may be committed.
struct PublishVerdicts: Sendable {
    let publisher: EventPublisher
    let notifications: NotificationTally
    let unknownFields: UnknownFieldTally

    func publish(_ judged: [(submission: SubmissionMessage, finding: Finding)]) async throws {
        var events: [(topic: String, event: CloudEvent)] = []
        for entry in judged {
            let key = VerdictParts.key(for: entry.submission, entry.finding)
            let verdicts = VerdictParts.messages(for: entry.submission, entry.finding)
            for (index, verdict) in verdicts.enumerated() {
                // Parts of one submission are different events: each has an id of its own, the same in a repetition.
                let id = verdict.isPartial ? "\(verdict.submissionId).\(index + 1)" : verdict.submissionId
                let event = publisher.event(
                    id: id, type: VerdictMessage.type, subject: verdict.submissionId,
                    correlationId: verdict.correlationId, key: key, isOrdered: VerdictParts.areOrdered(verdicts),
                    data: try MessageCoding.encode(verdict))
                events.append((topic: Topics.verdicts, event: event))
            }
            VerdictCount.count(entry.finding.verdict)
        }
        notifications.count(judged)
        unknownFields.count(judged)
        try await publisher.publishOrThrow(events)
    }
}

/// `countersign_verdicts_total{verdict,reason}`.
enum VerdictCount {
    static func count(_ verdict: Verdict) {
        let (name, reason) =
            switch verdict {
            case .genuine: ("genuine", "")
            case .rejected(let reason, _): ("rejected", reason.rawValue)
            case .unknown(let reason, _): ("unknown", reason.rawValue)
            }
        Counter(label: "countersign_verdicts_total", dimensions: [("verdict", name), ("reason", reason)]).increment()
    }
}
