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

/// Cuts a finding into messages that a broker takes.
enum VerdictParts {
    /// Transactions of one message: with their evidence, some 300 kB.
    static let transactionsMaximum = 200
    /// Bytes of evidence in one message; brokers take a megabyte by default.
    static let evidenceBytesMaximum = 512 << 10

    /// The messages in their order: all but the last are partial, and what the poster claims comes last.
    ///
    /// Each claims what it holds of the claims; the last one also claims what no part holds, and has what is said beside
    /// the transactions.
    static func messages(for submission: SubmissionMessage, _ finding: Finding) -> [VerdictMessage] {
        guard case .genuine(let transactions) = finding.verdict else {
            return [message(submission, finding, finding.verdict, claims: finding.claims, isPartial: false)]
        }
        let isClaimed = { (transaction: Transaction) in finding.claims.contains(transaction.transactionId) }
        let parts = cut(transactions.filter { !isClaimed($0) } + transactions.filter(isClaimed))
        let held = Set(transactions.map(\.transactionId))
        return parts.enumerated().map { index, part in
            let isLast = index == parts.count - 1
            let inPart = Set(part.map(\.transactionId))
            let claims = finding.claims.filter { inPart.contains($0) || isLast && !held.contains($0) }
            return message(submission, finding, .genuine(part), claims: claims, isPartial: !isLast)
        }
    }

    /// Whether messages of one finding must be read in their order: when there are several.
    ///
    /// The last one settles the submission, which is then due no more. If a broker lost its data between the last part and
    /// one before it, nobody would send that one again.
    static func areOrdered(_ messages: [VerdictMessage]) -> Bool { messages.count > 1 }

    /// The key of all messages of a finding: the lineage.
    ///
    /// It names what the messages belong to; that everything about one lineage is settled once is the database's doing.
    static func key(for submission: SubmissionMessage, _ finding: Finding) -> String {
        guard case .genuine(let transactions) = finding.verdict, let first = transactions.first else {
            return finding.renewals.first?.originalTransactionId ?? submission.submissionId
        }
        let mine = transactions.first { finding.claims.contains($0.transactionId) }
        return (mine ?? first).originalTransactionId
    }

    /// Parts within the limits; one empty part when there is nothing.
    private static func cut(_ transactions: [Transaction]) -> [[Transaction]] {
        var parts: [[Transaction]] = [[]]
        var bytes = 0
        for transaction in transactions {
            let size = transaction.evidence?.utf8.count ?? 0
            let isFull =
                parts[parts.count - 1].count >= Self.transactionsMaximum || bytes + size > Self.evidenceBytesMaximum
            if isFull, !parts[parts.count - 1].isEmpty {
                parts.append([])
                bytes = 0
            }
            parts[parts.count - 1].append(transaction)
            bytes += size
        }
        return parts
    }

    private static func message(
        _ submission: SubmissionMessage, _ finding: Finding, _ verdict: Verdict, claims: Claims, isPartial: Bool
    ) -> VerdictMessage {
        VerdictMessage(
            submissionId: submission.submissionId, app: submission.app, account: submission.account,
            correlationId: submission.correlationId, attempt: submission.attempt, verdict: verdict, claims: claims,
            isPartial: isPartial, renewals: isPartial ? [] : finding.renewals,
            rescindedConsents: isPartial ? [] : finding.rescindedConsents,
            notification: isPartial ? nil : finding.notification, proofSignedDate: finding.proofSignedDate)
    }
}
